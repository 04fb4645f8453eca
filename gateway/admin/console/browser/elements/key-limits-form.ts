import { html, nothing } from 'lit';
import { choice, field } from '../../../../browser/elements/fields.ts';
import { formatNumber } from '../../../../browser/format.ts';
import { byWindow, windows, type WindowName } from '../../../../limits/windows.ts';
import { api } from '../api.ts';
import { apiPath, describeNext } from '../key.ts';
import { limitFields, limitTexts, typedLimits, type LimitTexts } from '../limit-fields.ts';
import type { ChangedKey, KeyDetail, KeyEffect, LimitInForce } from '../responses.ts';
import { LimitsForm } from './limits-form.ts';
import { pastOfKeyText, shorterWindows } from './plan-effect-text.ts';

/** A key or a customer. */
type Subject = Pick<KeyDetail, 'id' | 'rev' | 'plan' | 'own' | 'limits'>;

type Values = LimitTexts & {
  plan: string;
  /** Local time at which the typed limits end, empty for good. */
  until: string;
};

/** Plan and own limits of a customer, or of a key of one. Dispatches `changed` with it as it is then. */
export class KeyLimitsForm extends LimitsForm<Subject, Values, KeyEffect> {
  override readonly saveLabel = 'Save limits';
  plans: string[] = [];

  valuesOf({ plan, own }: Subject) {
    return { plan, until: '', ...limitTexts(own) };
  }

  readEffect(key: Subject, typed: Values) {
    return api.post<KeyEffect>(`${apiPath(key.id)}/effect`, bodyOf(key, typed));
  }

  async save(base: Subject, typed: Values) {
    const body = { rev: base.rev, ...bodyOf(base, typed) };
    const key = await api.patch<ChangedKey>(apiPath(base.id), body);
    return ['Limits changed, from the next request on', key] as const;
  }

  limitFields(key: Subject, values: Values) {
    const { plan } = values;
    return html`${choice(
      'Plan',
      'plan',
      this.plans.map((name) => [name, name] as const),
      { value: plan },
    )}
    ${limitFields({
      label: 'Own limit',
      required: false,
      values,
      placeholder: (name) => likePlan(key, plan, name),
    })}
    ${field('Until (your time zone)', 'until', {
      type: 'datetime-local',
      value: values.until,
      hint: html`<small>Empty for good. The limits that you change end then by themselves.</small>`,
    })}`;
  }

  effectView() {
    return html`<p class="quiet">
        An empty limit is that of the plan. A change is in force from the next request on.
      </p>
      ${this.effect === undefined ? nothing : renderEffect(this.effect)}`;
  }

  overtakenView(base: Subject, key: Subject) {
    if (base.rev === key.rev) return nothing;
    return html`<p class="failure-text" role="alert">
      Somebody else has changed this while you edit it.
      <button type="button" class="wa-plain" @click=${this.reset}>Show what is there now</button>
    </p>`;
  }
}

/** @param plan that is chosen */
function likePlan(key: Subject, plan: string, name: WindowName) {
  const ofPlan = plan === key.plan ? (key.limits?.[name]?.plan ?? null) : null;
  return ofPlan === null ? 'as its plan' : `${ofPlan}, as its plan`;
}

function bodyOf({ own }: Subject, { plan, until, ...texts }: Values) {
  const limits = typedLimits(texts);
  if (until === '') return { plan, ...limits };
  const changed = byWindow((name) => (limits[name] === (own[name] ?? null) ? undefined : limits[name]));
  return { plan, temporary: { ...changed, until: new Date(until).toISOString() } };
}

function renderEffect({ before, after, past, doubts }: KeyEffect) {
  return html`
    <p>
      ${windows
        .filter(({ name }) => before.limits[name] !== undefined || after.limits[name] !== undefined)
        .map(
          ({ name, each }, index) =>
            html`${index === 0 ? '' : ', '}${renderLimitChange(each, before.limits[name], after.limits[name])}`,
        )}.
    </p>
    <p>
      The next request is <strong>${describeNext(after.next)}</strong>${
        before.next.served === after.next.served ? '' : html` (now it is ${describeNext(before.next)})`
      }.
    </p>
    ${past.map((impact) => html`<p>${pastOfKeyText(impact)}</p>`)}
    ${past.length === 0 ? nothing : html`<p class="quiet">${shorterWindows}</p>`}
    ${doubts.map((doubt) => html`<p class="warnings">Is this meant: ${doubt}?</p>`)}
  `;
}

function renderLimitChange(unit: string, before: LimitInForce | undefined, after: LimitInForce | undefined) {
  if (before?.limit === after?.limit) return html`${limitText(after)} ${unit} as before`;
  return html`<strong>${limitText(before)} → ${limitText(after)}</strong> ${unit}`;
}

const limitText = (limit: LimitInForce | undefined) =>
  limit === undefined || limit.limit === null ? 'no limit' : formatNumber(limit.limit);

customElements.define('limits-form', KeyLimitsForm);
