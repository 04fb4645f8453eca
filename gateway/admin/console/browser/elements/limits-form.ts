import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { formatNumber } from '../format.ts';
import { describeNext, type Key, type LimitInForce, type NextRequest } from '../key.ts';
import { LightElement } from './light-element.ts';
import { notify } from './notice.ts';
import { inlineFailure } from './page-state.ts';

type View = { plan: string; limits: { minute: LimitInForce; day: LimitInForce }; next: NextRequest };
export type Effect = { before: View; after: View; doubts: string[] };
type Values = { plan: string; minute: string; day: string };

/** Time without a key press after which the effect is asked for. */
const typingMs = 250;

/**
 * Plan and own limits of a key, with the effect of a change before it is made. What is being edited is not touched when
 * the key is read again. Dispatches `changed` with the key as it is then.
 */
export class LimitsForm extends LightElement {
  static override properties = {
    key: { attribute: false },
    plans: { attribute: false },
    values: { state: true },
    effect: { state: true },
    effectFailure: { state: true },
    failure: { state: true },
    busy: { state: true },
  };

  key: Key | undefined;
  plans: string[] = [];
  /** What is in the fields while they differ from the key. */
  values: Values | undefined;
  /** The key that the fields were changed from. */
  base: Key | undefined;
  effect: Effect | undefined;
  effectFailure: unknown;
  failure: unknown;
  busy = false;
  typing: ReturnType<typeof setTimeout> | undefined;
  asked = 0;

  override disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.typing);
  }

  async edit(field: 'plan' | 'minute' | 'day') {
    await this.updateComplete;
    const input = this.querySelector(`[name="${field}"]`);
    if (input instanceof HTMLElement) input.focus();
    if (input instanceof HTMLInputElement) input.select();
  }

  changed({ target }: Event) {
    if (!(target instanceof HTMLInputElement || target instanceof HTMLSelectElement)) return;
    if (this.key === undefined) return;
    this.base ??= this.key;
    const values = { ...(this.values ?? valuesOf(this.key)), [target.name]: target.value };
    this.values = isSame(values, valuesOf(this.base)) ? undefined : values;
    if (this.values === undefined) this.base = undefined;
    this.effect = undefined;
    this.effectFailure = undefined;
    this.failure = undefined;
    clearTimeout(this.typing);
    if (this.values !== undefined) this.typing = setTimeout(() => void this.askEffect(), typingMs);
  }

  async askEffect() {
    const { key, values } = this;
    const form = this.querySelector('form');
    if (key === undefined || values === undefined || !form?.checkValidity()) return;
    this.asked += 1;
    const { asked } = this;
    try {
      const effect = await api.post(`/api/keys/${key.id}/effect`, bodyOf(values));
      if (asked === this.asked && this.values !== undefined) this.effect = effect;
    } catch (error) {
      if (asked === this.asked) this.effectFailure = error;
    }
  }

  reset() {
    clearTimeout(this.typing);
    this.asked += 1;
    this.values = undefined;
    this.base = undefined;
    this.effect = undefined;
    this.effectFailure = undefined;
    this.failure = undefined;
  }

  submit(event: SubmitEvent) {
    event.preventDefault();
    const { base, values } = this;
    if (base === undefined || values === undefined) return;
    void this.change(
      () => api.patch(`/api/keys/${base.id}`, { rev: base.rev, ...bodyOf(values) }),
      `Limits changed, from the next request on`,
    );
  }

  startTrial() {
    const { base, values } = this;
    if (base === undefined || values === undefined) return;
    const { minute, day } = bodyOf(values);
    void this.change(
      () =>
        api.put(`/api/keys/${base.id}/trial`, {
          ...(minute === null ? {} : { minute }),
          ...(day === null ? {} : { day }),
        }),
      'The trial runs: requests are counted, and none is refused for it',
    );
  }

  async change(make: () => Promise<Key & { warnings: string[] }>, done: string) {
    if (this.busy) return;
    this.busy = true;
    this.failure = undefined;
    try {
      const key = await make();
      this.reset();
      this.dispatchEvent(new CustomEvent('changed', { detail: key }));
      notify(done, key.warnings);
    } catch (error) {
      this.failure = error;
    } finally {
      this.busy = false;
    }
  }

  override render() {
    const { key } = this;
    if (key === undefined) return nothing;
    const values = this.values ?? valuesOf(key);
    const isOvertaken = this.base !== undefined && this.base.rev !== key.rev;
    const canTry = this.values !== undefined && (values.minute !== '' || values.day !== '');
    return html`<form class="stack" @submit=${this.submit} @input=${this.changed}>
      <div class="fields">
        <label
          >Plan
          <select name="plan">
            ${withPlan(this.plans, values.plan).map(
              (name) => html`<option value=${name} .selected=${name === values.plan}>${name}</option>`,
            )}
          </select></label
        >
        ${this.renderLimit('minute', 'Own limit a minute', values.minute)}
        ${this.renderLimit('day', 'Own limit a day', values.day)}
      </div>
      <p class="quiet">
        An empty limit is that of the plan. A change is in force from the key's next request on.
      </p>
      <div class=${this.values === undefined ? '' : 'effect'} role="status">
        ${this.effect === undefined ? nothing : renderEffect(this.effect)}
        ${inlineFailure(this.effectFailure)}
      </div>
      ${
        isOvertaken
          ? html`<p class="failure-text" role="alert">
              Somebody else has changed this key while you edit it.
              <button type="button" class="wa-plain" @click=${this.reset}>Show what is there now</button>
            </p>`
          : nothing
      }
      ${inlineFailure(this.failure)}
      <div class="actions">
        <button class="wa-brand" ?disabled=${this.values === undefined || this.busy}>
          ${this.busy ? 'Working…' : 'Save limits'}
        </button>
        ${
          canTry
            ? html`<button type="button" ?disabled=${this.busy} @click=${this.startTrial}>
                Only try these limits
              </button>`
            : nothing
        }
        ${
          this.values === undefined
            ? nothing
            : html`<button type="button" class="wa-plain" @click=${this.reset}>Cancel</button>`
        }
      </div>
    </form>`;
  }

  renderLimit(name: 'minute' | 'day', label: string, value: string) {
    const ofPlan = this.key?.limits?.[name].plan ?? null;
    const isOtherPlan = this.values !== undefined && this.values.plan !== this.key?.plan;
    return html`<label
      >${label}
      <input
        name=${name}
        type="number"
        min="1"
        max="1000000000"
        step="1"
        inputmode="numeric"
        placeholder=${ofPlan === null || isOtherPlan ? 'as its plan' : `${ofPlan}, as its plan`}
        .value=${value}
    /></label>`;
  }
}

const valuesOf = ({ plan, own }: Key) => ({
  plan,
  minute: own.minute === null ? '' : String(own.minute),
  day: own.day === null ? '' : String(own.day),
});

const isSame = (one: Values, other: Values) =>
  one.plan === other.plan && one.minute === other.minute && one.day === other.day;

const bodyOf = ({ plan, minute, day }: Values) => ({
  plan,
  minute: minute === '' ? null : Number(minute),
  day: day === '' ? null : Number(day),
});

/** @param plan of the key, which may have been removed */
const withPlan = (plans: string[], plan: string) => (plans.includes(plan) ? plans : [plan, ...plans]);

function renderEffect({ before, after, doubts }: Effect) {
  return html`
    <p>
      ${renderLimitChange('a minute', before.limits.minute, after.limits.minute)},
      ${renderLimitChange('a day', before.limits.day, after.limits.day)}.
    </p>
    <p>
      The next request is <strong>${describeNext(after.next)}</strong>${
        before.next.served === after.next.served ? '' : html` (now it is ${describeNext(before.next)})`
      }.
    </p>
    ${doubts.map((doubt) => html`<p class="warnings">Is this meant: ${doubt}?</p>`)}
  `;
}

function renderLimitChange(unit: string, before: LimitInForce, after: LimitInForce) {
  if (before.limit === after.limit) return html`${limitText(after)} ${unit} as before`;
  return html`<strong>${limitText(before)} → ${limitText(after)}</strong> ${unit}`;
}

const limitText = ({ limit }: LimitInForce) => (limit === null ? 'no limit' : formatNumber(limit));

customElements.define('limits-form', LimitsForm);
