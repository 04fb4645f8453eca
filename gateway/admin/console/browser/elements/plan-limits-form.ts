import { html, nothing } from 'lit';
import { api, ApiFailure } from '../api.ts';
import { formText } from '../form-text.ts';
import { limitsText, type Plan } from '../plan-text.ts';
import { session } from '../session.ts';
import { LightElement } from './light-element.ts';
import { notify } from './notice.ts';
import { inlineFailure } from './page-state.ts';
import { effectText, type Effect } from './plan-effect-text.ts';

const debounceMs = 300;
/** While keys are counted. */
const askAgainMs = 1000;

/**
 * The limits of a plan, with what other ones would do before they are saved or tried. Fires `changed` when something was
 * saved. What was typed stays, whatever happens to the plan meanwhile.
 */
class PlanLimitsForm extends LightElement {
  static override properties = {
    plan: { attribute: false },
    typed: { state: true },
    seen: { state: true },
    effect: { state: true },
    effectFailure: { state: true },
    failure: { state: true },
    confirmed: { state: true },
    busy: { state: true },
  };

  plan: Plan | undefined;
  /** Undefined as long as nothing was typed. */
  typed: { minute: string; day: string } | undefined;
  /** The limits that the person has seen when they began to type. */
  seen: Pick<Plan, 'minute' | 'day'> | undefined;
  effect: Effect | undefined;
  effectFailure: unknown;
  failure: unknown;
  confirmed = false;
  busy = false;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** Number of the last question: an answer to an earlier one is too late. */
  asked = 0;

  override disconnectedCallback() {
    super.disconnectedCallback();
    this.forget();
  }

  /** Limits that were typed; undefined if they are none, or those that are stored. */
  get wanted() {
    if (this.typed === undefined) return undefined;
    const { minute, day } = { minute: toLimit(this.typed.minute), day: toLimit(this.typed.day) };
    return minute === undefined || day === undefined ? undefined : { minute, day };
  }

  get isChanged() {
    const { wanted, plan } = this;
    return wanted !== undefined && (wanted.minute !== plan?.minute || wanted.day !== plan.day);
  }

  /** Whether somebody else has changed the limits since they were seen. */
  get isOvertaken() {
    const { seen, plan } = this;
    return seen !== undefined && (seen.minute !== plan?.minute || seen.day !== plan.day);
  }

  type(event: Event) {
    if (!(event.currentTarget instanceof HTMLFormElement) || this.plan === undefined) return;
    const data = new FormData(event.currentTarget);
    const { minute, day } = this.plan;
    this.seen ??= { minute, day };
    const typed = { minute: formText(data, 'minute'), day: formText(data, 'day') };
    if (typed.minute !== this.typed?.minute || typed.day !== this.typed.day) this.confirmed = false;
    this.typed = typed;
    this.failure = undefined;
    this.askSoon(debounceMs);
  }

  /** Shows the stored limits again. */
  forget() {
    clearTimeout(this.timer);
    this.asked += 1;
    this.typed = undefined;
    this.seen = undefined;
    this.effect = undefined;
    this.effectFailure = undefined;
    this.failure = undefined;
    this.confirmed = false;
  }

  askSoon(delayMs: number) {
    clearTimeout(this.timer);
    if (this.isChanged) this.timer = setTimeout(() => void this.ask(), delayMs);
    else this.effect = undefined;
  }

  /** The count of many keys takes seconds, so it begins when somebody is about to type. */
  prepare() {
    const { plan } = this;
    if (!session.isOperator || plan === undefined || plan.minute === null || plan.day === null) return;
    api.post(`/api/plans/${plan.name}/effect`, { minute: plan.minute, day: plan.day }).catch(() => {});
  }

  async ask() {
    const { wanted, plan } = this;
    if (wanted === undefined || plan === undefined) return;
    this.asked += 1;
    const { asked } = this;
    try {
      const effect = await api.post(`/api/plans/${plan.name}/effect`, wanted);
      if (asked !== this.asked) return;
      this.effect = effect;
      this.effectFailure = undefined;
      if (effect.counting !== null) this.askSoon(askAgainMs);
    } catch (error) {
      if (asked === this.asked) this.effectFailure = error;
    }
  }

  async save(event: SubmitEvent) {
    event.preventDefault();
    const { wanted, plan, seen, confirmed } = this;
    if (wanted === undefined || plan === undefined || seen === undefined) return;
    await this.run(async () => {
      const body = { ...wanted, confirmed, expected: seen };
      const { before, warnings } = await api.patch(`/api/plans/${plan.name}`, body);
      notify(
        `${plan.name}: ${limitsText(before)} → ${limitsText(wanted)}. In force within a second.`,
        warnings,
      );
    });
  }

  async try_() {
    const { wanted, plan } = this;
    if (wanted === undefined || plan === undefined) return;
    const { minute, day } = wanted;
    const trial = {
      ...(minute === plan.minute ? {} : { minute }),
      ...(day === plan.day ? {} : { day }),
    };
    await this.run(async () => {
      const expected = { since: plan.trial?.since ?? null };
      const { warnings } = await api.put(`/api/plans/${plan.name}/trial`, { ...trial, expected });
      notify(`The trial of ${limitsText(wanted)} has begun. Nothing is refused for it.`, warnings);
    });
  }

  async run(change: () => Promise<void>) {
    if (this.busy) return;
    this.busy = true;
    this.failure = undefined;
    try {
      await change();
      this.forget();
      this.dispatchEvent(new CustomEvent('changed'));
    } catch (error) {
      this.failure = error;
      if (error instanceof ApiFailure && error.code === 'conflict')
        this.dispatchEvent(new CustomEvent('changed'));
    } finally {
      this.busy = false;
    }
  }

  override render() {
    const { plan } = this;
    if (plan === undefined) return nothing;
    const values = this.typed ?? { minute: String(plan.minute ?? ''), day: String(plan.day ?? '') };
    return html`<form class="narrow" @submit=${this.save} @input=${this.type} @focusin=${this.prepare}>
      <fieldset ?disabled=${!session.isOperator}>
        <legend class="wa-visually-hidden">Limits of ${plan.name}</legend>
        <div class="fields">
          ${limitInput('minute', 'Requests a minute', values.minute)}
          ${limitInput('day', 'Requests a day', values.day)}
        </div>
        <div class="effect" aria-live="polite">${this.effectView()}</div>
        ${this.questionView()} ${this.overtakenView(plan)} ${inlineFailure(this.failure)}
        ${session.isOperator ? this.actions(plan) : nothing}
      </fieldset>
    </form>`;
  }

  effectView() {
    if (!session.isOperator) return nothing;
    if (!this.isChanged) return html`<p class="quiet">Type other limits to see what they would do.</p>`;
    if (this.effectFailure !== undefined) return inlineFailure(this.effectFailure);
    if (this.effect === undefined) return html`<p class="quiet">Looking at the keys…</p>`;
    return effectText(this.effect);
  }

  questionView() {
    const { wanted } = this;
    if (wanted === undefined || wanted.day >= wanted.minute || !this.isChanged) return nothing;
    return html`<label class="check"
      ><input
        type="checkbox"
        .checked=${this.confirmed}
        @change=${(event: Event) => {
          if (event.target instanceof HTMLInputElement) this.confirmed = event.target.checked;
        }}
      />
      The day limit is less than the minute limit, so the minute limit is never reached. I mean that.</label
    >`;
  }

  overtakenView(plan: Plan) {
    if (!this.isOvertaken) return nothing;
    return html`<p class="warnings">
      Meanwhile somebody has changed the limits: now they are ${limitsText(plan)}.
      <button type="button" @click=${this.forget}>Show these</button>
    </p>`;
  }

  actions(plan: Plan) {
    const isUnconfirmed =
      this.wanted !== undefined && this.wanted.day < this.wanted.minute && !this.confirmed;
    const isIdle = !this.isChanged || this.busy;
    return html`<div class="actions">
      <button class="wa-brand" ?disabled=${isIdle || isUnconfirmed}>
        ${this.busy ? 'Working…' : 'Save'}
      </button>
      <button
        type="button"
        ?disabled=${isIdle || plan.minute === null || plan.day === null}
        title="Counts what these limits would refuse, and refuses nothing"
        @click=${this.try_}
      >
        Try without refusing
      </button>
      <button type="button" class="wa-plain" ?disabled=${this.typed === undefined} @click=${this.forget}>
        Discard
      </button>
    </div>`;
  }
}

const limitInput = (name: string, label: string, value: string) =>
  html`<label
    >${label}
    <input name=${name} type="number" inputmode="numeric" min="1" max="1000000000" required .value=${value} />
  </label>`;

function toLimit(text: string) {
  return /^[1-9]\d{0,9}$/.test(text) && Number(text) <= 1e9 ? Number(text) : undefined;
}

customElements.define('plan-limits-form', PlanLimitsForm);
