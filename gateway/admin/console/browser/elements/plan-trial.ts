import './confirm-dialog.ts';
import { html, nothing } from 'lit';
import { byWindow, fieldOf, windows } from '../../../../limits/windows.ts';
import { api } from '../api.ts';
import { formatNumber, formatRelative, plural } from '../format.ts';
import { countedText, limitsText } from '../plan-text.ts';
import { Refresher } from '../refresher.ts';
import type { Changed, Plan, PlanTrialReport, PlanTrial as Trial } from '../responses.ts';
import { session } from '../session.ts';
import { url } from '../url.ts';
import { showDialog } from './dialog-element.ts';
import { LightElement } from './light-element.ts';
import { notify } from './notice.ts';
import { inlineFailure } from './page-state.ts';
import { refusedText } from './plan-effect-text.ts';
import { numeric, table } from './table.ts';

/** The trial of a plan that runs, what it has found, and its end. Fires `changed` when it was ended. */
class PlanTrial extends LightElement {
  static override properties = {
    plan: { attribute: false },
    trial: { state: true },
  };

  plan: Plan | undefined;
  trial: Trial | null | undefined;
  refresher = new Refresher(
    this,
    () => this.load(),
    () => (this.trial?.counting ? 1000 : 5000),
  );

  async load() {
    if (this.plan === undefined) return;
    this.trial = (await api.get<{ trial: Trial | null }>(url`/api/plans/${this.plan.name}/trial`)).trial;
  }

  async end(change: () => Promise<Changed>, done: string) {
    const { warnings } = await change();
    notify(done, warnings);
    this.dispatchEvent(new CustomEvent('changed'));
  }

  override render() {
    const { plan, trial } = this;
    if (plan === undefined) return nothing;
    if (trial === undefined || trial === null) return this.refresher.placeholder();
    const path = url`/api/plans/${plan.name}/trial`;
    const expected = { since: trial.since };
    const limits = byWindow((name) => trial[name] ?? plan[name]);
    return html`<div class="panel">
      <p>
        <strong>${limitsText(trial)}</strong> on trial since ${formatRelative(trial.since)}. Nothing is
        refused for it.
      </p>
      ${this.reportView(trial)} ${inlineFailure(this.refresher.failure)}
      ${
        session.isOperator
          ? html`<div class="actions">
              <button type="button" class="wa-brand" @click=${() => showDialog(this, '.apply')}>
                Make these the limits
              </button>
              <button type="button" @click=${() => showDialog(this, '.stop')}>End the trial</button>
            </div>`
          : nothing
      }
      <confirm-dialog
        class="apply"
        heading=${`Make these the limits of ${plan.name}?`}
        action="Set the limits"
        .message=${html`<p>
            ${limitsText(plan)} → <strong>${limitsText(limits)}</strong>, in force on all gateways within a
            second. The trial ends.
          </p>
          ${trial.report === null ? nothing : html`<p>In the trial, ${refusedText(trial.report)}</p>`}`}
        .run=${() =>
          this.end(
            () => api.post(`${path}/apply`, { expected }),
            `The limits of ${plan.name} are ${limitsText(limits)} now.`,
          )}
      ></confirm-dialog>
      <confirm-dialog
        class="stop"
        heading="End the trial?"
        action="End the trial"
        .message=${html`<p>The limits stay as they are: ${limitsText(plan)}. The counts of the trial are not kept.</p>`}
        .run=${() => this.end(() => api.delete(path, { expected }), `The trial of ${plan.name} has ended.`)}
      ></confirm-dialog>
    </div>`;
  }

  reportView({ report, asOf, counting }: Trial) {
    if (report === null) return html`<p class="quiet">${countedText(asOf, counting)}</p>`;
    return html`<p>
        ${plural(report.keys, 'key')} on trial, ${formatNumber(report.activeKeys)} with requests:
        ${refusedText(report)}
      </p>
      ${report.hardestHit.length === 0 ? nothing : hitTable(report.hardestHit)}
      <p class="quiet">${countedText(asOf, counting)}</p>`;
  }
}

function hitTable(keys: PlanTrialReport['hardestHit']) {
  const shown = windows.filter(
    ({ name, required }) => required || keys.some((key) => key[fieldOf('refused', name)] !== undefined),
  );
  return table({
    label: 'Keys that would be hit hardest',
    headings: [
      'Would be hit hardest',
      numeric('Requests'),
      ...shown.map(({ name }) => numeric(`Refused by the ${name}`)),
    ],
    rows: keys.map(
      (key) =>
        html`<tr>
          <td><a href=${url`/console/customers/${key.id}`}>${key.name}</a></td>
          <td class="number">${formatNumber(key.requests)}</td>
          ${shown.map(
            ({ name }) => html`<td class="number">${formatNumber(key[fieldOf('refused', name)] ?? 0)}</td>`,
          )}
        </tr>`,
    ),
  });
}

customElements.define('plan-trial', PlanTrial);
