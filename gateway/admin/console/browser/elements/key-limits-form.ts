import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { formatNumber } from '../format.ts';
import { describeNext } from '../key.ts';
import type { ChangedKey, KeyDetail, KeyEffect, LimitInForce } from '../responses.ts';
import { url } from '../url.ts';
import { LimitsForm } from './limits-form.ts';

type Values = { plan: string; minute: string; day: string };

/** Plan and own limits of a key. Dispatches `changed` with the key as it is then. */
export class KeyLimitsForm extends LimitsForm<KeyDetail, Values, KeyEffect> {
  static override properties = { plans: { attribute: false } };

  override readonly labels = { save: 'Save limits', try: 'Only try these limits' };
  plans: string[] = [];

  async edit(field: 'plan' | 'minute' | 'day') {
    await this.updateComplete;
    const input = this.querySelector(`[name="${field}"]`);
    if (input instanceof HTMLElement) input.focus();
    if (input instanceof HTMLInputElement) input.select();
  }

  valuesOf({ plan, own }: KeyDetail) {
    return { plan, minute: String(own.minute ?? ''), day: String(own.day ?? '') };
  }

  readEffect({ id }: KeyDetail, typed: Values) {
    return api.post<KeyEffect>(url`/api/keys/${id}/effect`, bodyOf(typed));
  }

  async save({ id, rev }: KeyDetail, typed: Values) {
    const key = await api.patch<ChangedKey>(url`/api/keys/${id}`, { rev, ...bodyOf(typed) });
    return ['Limits changed, from the next request on', key] as const;
  }

  async try({ id }: KeyDetail, typed: Values) {
    const { minute, day } = bodyOf(typed);
    const limits = { ...(minute === null ? {} : { minute }), ...(day === null ? {} : { day }) };
    const key = await api.put<ChangedKey>(url`/api/keys/${id}/trial`, limits);
    return ['The trial runs: requests are counted, and none is refused for it', key] as const;
  }

  get canSave() {
    return this.typed !== undefined;
  }

  get canTry() {
    return this.typed !== undefined && (this.typed.minute !== '' || this.typed.day !== '');
  }

  fields(key: KeyDetail, { plan, minute, day }: Values) {
    return html`<label
        >Plan
        <select name="plan">
          ${withPlan(this.plans, plan).map(
            (name) => html`<option value=${name} .selected=${name === plan}>${name}</option>`,
          )}
        </select></label
      >
      ${limitField(key, plan, ['minute', 'Own limit a minute', minute])}
      ${limitField(key, plan, ['day', 'Own limit a day', day])}`;
  }

  effectView() {
    return html`<p class="quiet">
        An empty limit is that of the plan. A change is in force from the key's next request on.
      </p>
      ${this.effect === undefined ? nothing : renderEffect(this.effect)}`;
  }

  overtakenView(base: KeyDetail, key: KeyDetail) {
    if (base.rev === key.rev) return nothing;
    return html`<p class="failure-text" role="alert">
      Somebody else has changed this key while you edit it.
      <button type="button" class="wa-plain" @click=${this.reset}>Show what is there now</button>
    </p>`;
  }
}

/** @param plan that is chosen */
function limitField(
  key: KeyDetail,
  plan: string,
  [name, label, value]: [name: 'minute' | 'day', label: string, value: string],
) {
  const ofPlan = plan === key.plan ? (key.limits?.[name].plan ?? null) : null;
  return html`<label
    >${label}
    <input
      name=${name}
      type="number"
      min="1"
      max="1000000000"
      step="1"
      inputmode="numeric"
      placeholder=${ofPlan === null ? 'as its plan' : `${ofPlan}, as its plan`}
      .value=${value}
  /></label>`;
}

const bodyOf = ({ plan, minute, day }: Values) => ({
  plan,
  minute: minute === '' ? null : Number(minute),
  day: day === '' ? null : Number(day),
});

/** @param plan of the key, which may have been removed */
const withPlan = (plans: string[], plan: string) => (plans.includes(plan) ? plans : [plan, ...plans]);

function renderEffect({ before, after, doubts }: KeyEffect) {
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

customElements.define('limits-form', KeyLimitsForm);
