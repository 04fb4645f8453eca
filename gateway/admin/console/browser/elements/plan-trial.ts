import { html, nothing } from 'lit';
import { byWindow, fieldOf, windows, type ByWindow } from '../../../../limits/windows.ts';
import { api } from '../api.ts';
import { formatNumber, formatRelative, plural } from '../format.ts';
import { keyPath } from '../key.ts';
import { withoutNulls } from '../limit-fields.ts';
import { countedText, limitsText } from '../plan-text.ts';
import { Refresher } from '../refresher.ts';
import type { Changed, Plan, PlanEffect, PlanTrialReport, PlanTrial as Trial } from '../responses.ts';
import { session } from '../session.ts';
import { url } from '../url.ts';
import { ConfirmDialog } from './confirm-dialog.ts';
import { showDialog } from './dialog-element.ts';
import { LightElement } from './light-element.ts';
import { notify } from './notice.ts';
import { inlineFailure } from './page-state.ts';
import { effectText, refusedText } from './plan-effect-text.ts';
import { numeric, table } from './table.ts';

/** While keys are counted. */
const askAgainMs = 1000;

/** The trial of a plan that runs, what it has found, and its end. Fires `changed` when it was ended. */
class PlanTrial extends LightElement {
  static override properties = {
    plan: { attribute: false },
    trial: { state: true },
    effect: { state: true },
    effectFailure: { state: true },
  };

  plan: Plan | undefined;
  trial: Trial | null | undefined;
  /** What the limits on trial would do as those of the plan, while the dialog asks. */
  effect: PlanEffect | undefined;
  effectFailure: unknown;
  refresher = new Refresher(
    this,
    () => this.load(),
    () => (this.trial?.counting ? 1000 : 5000),
  );

  async load() {
    if (this.plan === undefined) return;
    this.trial = (await api.get<{ trial: Trial | null }>(url`/api/plans/${this.plan.name}/trial`)).trial;
  }

  async askToApply(limits: ByWindow<number>) {
    this.effect = undefined;
    this.effectFailure = undefined;
    showDialog(this, '.apply');
    await this.readEffect(limits);
  }

  /** Asks again while keys are counted and the dialog is open. */
  async readEffect(limits: ByWindow<number>): Promise<void> {
    if (this.plan === undefined) return;
    try {
      // The trial itself is shown already.
      this.effect = {
        ...(await api.post<PlanEffect>(url`/api/plans/${this.plan.name}/effect`, limits)),
        trial: null,
      };
    } catch (error) {
      this.effectFailure = error;
      return;
    }
    const { counting, past } = this.effect;
    if (counting === null && past.counting === null) return;
    await new Promise((resolve) => {
      setTimeout(resolve, askAgainMs);
    });
    const dialog = this.querySelector('.apply');
    if (dialog instanceof ConfirmDialog && dialog.open) await this.readEffect(limits);
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
              <button
                type="button"
                class="wa-brand"
                @click=${() => void this.askToApply(withoutNulls(limits))}
              >
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
          ${trial.report === null ? nothing : html`<p>In the trial, ${refusedText(trial.report)}</p>`}
          <div class="effect" aria-live="polite">
            ${this.effect === undefined ? html`<p class="quiet">Looking at the keys…</p>` : effectText(this.effect)}
            ${inlineFailure(this.effectFailure)}
          </div>`}
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
    label: 'Customers that would be hit hardest',
    headings: [
      'Would be hit hardest',
      numeric('Requests'),
      ...shown.map(({ name }) => numeric(`Refused by the ${name}`)),
    ],
    rows: keys.map(
      (key) =>
        html`<tr>
          <td><a href=${keyPath(key.id)}>${key.name}</a></td>
          <td class="number">${formatNumber(key.requests)}</td>
          ${shown.map(
            ({ name }) => html`<td class="number">${formatNumber(key[fieldOf('refused', name)] ?? 0)}</td>`,
          )}
        </tr>`,
    ),
  });
}

customElements.define('plan-trial', PlanTrial);
