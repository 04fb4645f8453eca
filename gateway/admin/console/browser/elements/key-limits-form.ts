import { html, nothing } from 'lit';
import { choice } from '../../../../browser/elements/fields.ts';
import type { WindowName } from '../../../../limits/windows.ts';
import { api } from '../api.ts';
import { apiPath } from '../key.ts';
import { doubtText, limitFields, limitTexts, typedLimits, type LimitTexts } from '../limit-fields.ts';
import type { ChangedKey, KeyDetail } from '../responses.ts';
import { EditForm } from './edit-form.ts';

/** A key or a customer. */
type Subject = Pick<KeyDetail, 'id' | 'rev' | 'plan' | 'own' | 'limits'>;

type Values = LimitTexts & { plan: string };

/** Plan and own limits of a customer, or of a key of one. Dispatches `changed` with it as it is then. */
export class KeyLimitsForm extends EditForm<Subject, Values> {
  override readonly saveLabel = 'Save limits';
  plans: string[] = [];

  valuesOf({ plan, own }: Subject) {
    return { plan, ...limitTexts(own) };
  }

  async save(base: Subject, typed: Values) {
    const { plan, ...texts } = typed;
    const body = { rev: base.rev, plan, ...typedLimits(texts) };
    const key = await api.patch<ChangedKey>(apiPath(base.id), body);
    return ['Limits changed, from the next request on', key] as const;
  }

  fields(key: Subject, values: Values) {
    const { base } = this;
    const doubts = doubtText(typedLimits(values));
    const { plan } = values;
    return html`<div class="fields">
        ${choice(
          'Plan',
          'plan',
          this.plans.map((name) => [name, name] as const),
          { value: plan },
        )}
        ${limitFields({
          label: 'Own limit',
          values,
          placeholder: (name) => likePlan(key, plan, name),
        })}
      </div>
      <p class="quiet">An empty limit is that of the plan. A change is in force from the next request on.</p>
      ${doubts === '' ? nothing : html`<p class="warnings" aria-live="polite">${doubts} Is this meant?</p>`}
      ${base === undefined ? nothing : this.overtakenView(base, key)}`;
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

customElements.define('limits-form', KeyLimitsForm);
