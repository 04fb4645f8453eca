import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { formatNumber } from '../format.ts';
import { describeNext } from '../key.ts';
import { url } from '../url.ts';
import { LightElement } from './light-element.ts';
import { notify } from './notice.ts';
import { inlineFailure } from './page-state.ts';

/** @typedef {import('../key.ts').Key} Key */
/** @typedef {import('../key.ts').LimitInForce} LimitInForce */
/** @typedef {import('../key.ts').NextRequest} NextRequest */
/** @typedef {{ plan: string, limits: { minute: LimitInForce, day: LimitInForce }, next: NextRequest }} View */
/** @typedef {{ before: View, after: View, doubts: string[] }} Effect */
/** @typedef {{ plan: string, minute: string, day: string }} Values */

/** Time without a key press after which the effect is asked for. */
const typingMs = 250;

/**
 * Plan and own limits of a key, with the effect of a change before it is made. What is being edited is not touched when
 * the key is read again. Dispatches `changed` with the key as it is then.
 */
export class LimitsForm extends LightElement {
  static properties = {
    key: { attribute: false },
    plans: { attribute: false },
    values: { state: true },
    effect: { state: true },
    effectFailure: { state: true },
    failure: { state: true },
    busy: { state: true },
  };

  constructor() {
    super();
    /** @type {Key | undefined} */
    this.key = undefined;
    /** @type {string[]} */
    this.plans = [];
    /** What is in the fields while they differ from the key. @type {Values | undefined} */
    this.values = undefined;
    /** The key that the fields were changed from. @type {Key | undefined} */
    this.base = undefined;
    /** @type {Effect | undefined} */
    this.effect = undefined;
    /** @type {unknown} */
    this.effectFailure = undefined;
    /** @type {unknown} */
    this.failure = undefined;
    this.busy = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.typing = undefined;
    this.asked = 0;
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.typing);
  }

  /** @param {'plan' | 'minute' | 'day'} field */
  async edit(field) {
    await this.updateComplete;
    const input = this.querySelector(`[name="${field}"]`);
    if (input instanceof HTMLElement) input.focus();
    if (input instanceof HTMLInputElement) input.select();
  }

  /** @param {Event} event */
  changed({ target }) {
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
      const effect = await api.post(url`/api/keys/${key.id}/effect`, bodyOf(values));
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

  /** @param {SubmitEvent} event */
  submit(event) {
    event.preventDefault();
    const { base, values } = this;
    if (base === undefined || values === undefined) return;
    void this.change(
      () => api.patch(url`/api/keys/${base.id}`, { rev: base.rev, ...bodyOf(values) }),
      `Limits changed, from the next request on`,
    );
  }

  startTrial() {
    const { base, values } = this;
    if (base === undefined || values === undefined) return;
    const { minute, day } = bodyOf(values);
    void this.change(
      () =>
        api.put(url`/api/keys/${base.id}/trial`, {
          ...(minute === null ? {} : { minute }),
          ...(day === null ? {} : { day }),
        }),
      'The trial runs: requests are counted, and none is refused for it',
    );
  }

  /**
   * @param {() => Promise<Key & { warnings: string[] }>} make
   * @param {string} done
   */
  async change(make, done) {
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

  render() {
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

  /**
   * @param {'minute' | 'day'} name
   * @param {string} label
   * @param {string} value
   */
  renderLimit(name, label, value) {
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

/** @param {Key} key */
const valuesOf = ({ plan, own }) => ({
  plan,
  minute: own.minute === null ? '' : String(own.minute),
  day: own.day === null ? '' : String(own.day),
});

/**
 * @param {Values} one
 * @param {Values} other
 */
const isSame = (one, other) =>
  one.plan === other.plan && one.minute === other.minute && one.day === other.day;

/** @param {Values} values */
const bodyOf = ({ plan, minute, day }) => ({
  plan,
  minute: minute === '' ? null : Number(minute),
  day: day === '' ? null : Number(day),
});

/**
 * @param {string[]} plans
 * @param {string} plan of the key, which may have been removed
 */
const withPlan = (plans, plan) => (plans.includes(plan) ? plans : [plan, ...plans]);

/** @param {Effect} effect */
function renderEffect({ before, after, doubts }) {
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

/**
 * @param {string} unit
 * @param {LimitInForce} before
 * @param {LimitInForce} after
 */
function renderLimitChange(unit, before, after) {
  if (before.limit === after.limit) return html`${limitText(after)} ${unit} as before`;
  return html`<strong>${limitText(before)} → ${limitText(after)}</strong> ${unit}`;
}

/** @param {LimitInForce} limit */
const limitText = ({ limit }) => (limit === null ? 'no limit' : formatNumber(limit));

customElements.define('limits-form', LimitsForm);
