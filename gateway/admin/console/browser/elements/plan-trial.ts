import { html, nothing } from 'lit';
import { ask } from '../../../../browser/elements/confirm-dialog.ts';
import { LightElement } from '../../../../browser/elements/light-element.ts';
import { inlineFailure } from '../../../../browser/elements/page-state.ts';
import { PolledElement } from '../../../../browser/elements/polled-element.ts';
import { count, listTable } from '../../../../browser/elements/table.ts';
import { formatNumber, formatRelative, plural } from '../../../../browser/format.ts';
import { Refresher } from '../../../../browser/refresher.ts';
import { url } from '../../../../browser/url.ts';
import { byWindow, fieldOf, windows, type ByWindow } from '../../../../limits/windows.ts';
import { api } from '../api.ts';
import { keyLink } from '../key.ts';
import { countedText, limitsText } from '../plan-text.ts';
import type { Changed, Plan, PlanEffect, PlanTrialReport, PlanTrial as Trial } from '../responses.ts';
import { session } from '../session.ts';
import { effectText, refusedText } from './plan-effect-text.ts';

type Hit = PlanTrialReport['hardestHit'][number];

/** Of the effect that a dialog shows. */
const askAgainMs = 1000;

/** What limits would do as those of a plan, asked again while keys are counted. */
class PlanEffectView extends LightElement {
  plan = '';
  limits: ByWindow<number> = {};
  effect: PlanEffect | undefined;
  refresher = new Refresher(
    this,
    () => this.load(),
    () => askAgainMs,
  );

  async load() {
    if (this.effect?.counting === null && this.effect.past.counting === null) return;
    const effect = await api.post<PlanEffect>(url`/api/plans/${this.plan}/effect`, this.limits);
    // The trial itself is shown already.
    this.effect = { ...effect, trial: null };
  }

  override render() {
    const { effect, refresher } = this;
    return html`<div class="effect" aria-live="polite">
      ${effect === undefined ? html`<p class="quiet">Looking at the keys…</p>` : effectText(effect)}
      ${inlineFailure(refresher.failure)}
    </div>`;
  }
}

customElements.define('plan-effect', PlanEffectView);

/** The trial of a plan that runs, what it has found, and its end. Fires `changed` when it was ended. */
class PlanTrial extends PolledElement<Trial> {
  plan: Plan | undefined;

  override get pauseMs() {
    return this.content?.counting ? 1000 : 5000;
  }

  get path() {
    return url`/api/plans/${this.plan?.name ?? ''}/trial`;
  }

  async read() {
    return (await api.get<{ trial: Trial | null }>(this.path)).trial ?? undefined;
  }

  askToApply(plan: Plan, trial: Trial) {
    const limits = byWindow((name) => trial[name] ?? plan[name] ?? undefined);
    ask(this, {
      heading: `Make these the limits of ${plan.name}?`,
      action: 'Set the limits',
      message: () =>
        html`<p>
            ${limitsText(plan)} → <strong>${limitsText(limits)}</strong>, in force on all gateways within a
            second. The trial ends.
          </p>
          ${trial.report === null ? nothing : html`<p>In the trial, ${refusedText(trial.report)}</p>`}
          <plan-effect .plan=${plan.name} .limits=${limits}></plan-effect>`,
      run: () =>
        this.end(
          api.post(`${this.path}/apply`, { expected: { since: trial.since } }),
          `The limits of ${plan.name} are ${limitsText(limits)} now.`,
        ),
    });
  }

  askToStop(plan: Plan, { since }: Trial) {
    ask(this, {
      heading: 'End the trial?',
      action: 'End the trial',
      message: () =>
        html`<p>The limits stay as they are: ${limitsText(plan)}. The counts of the trial are not kept.</p>`,
      run: () =>
        this.end(api.delete(this.path, { expected: { since } }), `The trial of ${plan.name} has ended.`),
    });
  }

  async end(change: Promise<Changed>, done: string) {
    this.announce(done, await change);
  }

  view(trial: Trial) {
    const { plan } = this;
    if (plan === undefined) return nothing;
    const { report, asOf, counting, since } = trial;
    return html`<div class="panel">
      <p>
        <strong>${limitsText(trial)}</strong> on trial since ${formatRelative(since)}. Nothing is refused for
        it.
      </p>
      ${
        report === null
          ? nothing
          : html`<p>
                ${plural(report.keys, 'key')} on trial, ${formatNumber(report.activeKeys)} with requests:
                ${refusedText(report)}
              </p>
              ${report.hardestHit.length === 0 ? nothing : hitTable(report.hardestHit)}`
      }
      <p class="quiet">${countedText(asOf, counting)}</p>
      ${
        session.isOperator
          ? html`<div class="actions">
              <button type="button" class="wa-brand" @click=${() => this.askToApply(plan, trial)}>
                Make these the limits
              </button>
              <button type="button" @click=${() => this.askToStop(plan, trial)}>End the trial</button>
            </div>`
          : nothing
      }
    </div>`;
  }
}

function hitTable(keys: readonly Hit[]) {
  const shown = windows.filter(
    ({ name, required }) => required || keys.some((key) => key[fieldOf('refused', name)] !== undefined),
  );
  return listTable(
    'Customers that would be hit hardest',
    keys,
    [
      ['Would be hit hardest', keyLink],
      count('Requests', ({ requests }) => requests),
      ...shown.map(({ name }) =>
        count<Hit>(`Refused by the ${name}`, (key) => key[fieldOf('refused', name)] ?? 0),
      ),
    ],
    { headed: false },
  );
}

customElements.define('plan-trial', PlanTrial);
