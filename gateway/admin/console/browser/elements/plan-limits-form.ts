import { html, nothing } from 'lit';
import { field, meantBox } from '../../../../browser/elements/fields.ts';
import { url } from '../../../../browser/url.ts';
import { knownIn, maxLimit, parseLimit, type Limits } from '../../../../limits/limits.ts';
import {
  equalPlanLimits,
  forPlanFields,
  shadowField,
  type ByPlanField,
  type PlanField,
} from '../../../../limits/shadow-limits.ts';
import { windows, type ByWindow } from '../../../../limits/windows.ts';
import { api } from '../api.ts';
import { doubtText, isComplete, limitFields } from '../limit-fields.ts';
import { limitsText } from '../plan-text.ts';
import type { Changed, Plan, PlanEffect } from '../responses.ts';
import { session } from '../session.ts';
import { LimitsForm } from './limits-form.ts';
import { effectText } from './plan-effect-text.ts';

type PlanTexts = Record<PlanField, string>;

const planTexts = (plan: ByPlanField<number | null>): PlanTexts =>
  forPlanFields((name) => String(plan[name] ?? ''));

/** Null for an empty field. */
const typedLimits = (texts: PlanTexts) => forPlanFields((name) => parseLimit(texts[name]) ?? null);

/** The limits of a plan. */
class PlanLimitsForm extends LimitsForm<Plan, PlanTexts, PlanEffect> {
  /** Whether unusual limits are meant. */
  confirmed = false;

  constructor() {
    super();
    this.addEventListener('focusin', this.prepare);
  }

  valuesOf(plan: Plan) {
    return planTexts(plan);
  }

  override reset() {
    super.reset();
    this.confirmed = false;
  }

  /** Limits that were typed; undefined if they are none, or those that are stored. */
  get wanted() {
    const { typed, subject } = this;
    if (typed === undefined || subject === undefined) return undefined;
    const limits = typedLimits(typed);
    return !isComplete(limits) || equalPlanLimits(limits, subject) ? undefined : limits;
  }

  /** The count of many keys takes seconds, so it begins when somebody is about to type. */
  prepare() {
    const { subject } = this;
    if (!session.isOperator || subject === undefined || !isComplete(subject)) return;
    void this.readEffect(subject, this.valuesOf(subject)).catch(() => {});
  }

  readEffect({ name }: Plan, typed: PlanTexts) {
    return api.post<PlanEffect>(url`/api/plans/${name}/effect`, knownIn(typedLimits(typed)));
  }

  override isCounting({ counting, past }: PlanEffect) {
    return counting !== null || past.counting !== null;
  }

  async save(plan: Plan) {
    const { name } = plan;
    const { wanted, confirmed } = this;
    const body = { ...wanted, confirmed, expected: typedLimits(planTexts(plan)) };
    const changed = await api.patch<Changed<Limits & { before: ByWindow<number | null> }>>(
      url`/api/plans/${name}`,
      body,
    );
    return [
      `${name}: ${limitsText(changed.before)} → ${limitsText(changed)}. In force within a second.`,
      changed,
    ] as const;
  }

  override get canSave() {
    return this.wanted !== undefined && (this.doubts === '' || this.confirmed);
  }

  get doubts() {
    return doubtText(this.wanted ?? {});
  }

  limitFields(_plan: Plan, values: PlanTexts) {
    return html`${limitFields({ label: 'Requests', required: true, values })}
    ${windows.map(({ name, each }) =>
      field(`Shadow limit ${each}`, shadowField(name), {
        type: 'number',
        min: 1,
        max: maxLimit,
        placeholder: 'none',
        value: values[shadowField(name)],
      }),
    )}`;
  }

  effectView() {
    if (!session.isOperator) return nothing;
    if (this.wanted === undefined)
      return html`<p class="quiet">Type other limits to see what they would do.</p>`;
    if (this.effect !== undefined) return effectText(this.effect);
    return this.effectFailure === undefined ? html`<p class="quiet">Looking at the keys…</p>` : nothing;
  }

  override questionView() {
    return meantBox(this.doubts, {
      checked: this.confirmed,
      onInput: (isTicked) => (this.confirmed = isTicked),
    });
  }

  overtakenView(seen: Plan, plan: Plan) {
    if (equalPlanLimits(seen, plan)) return nothing;
    return html`<p class="warnings">
      Meanwhile somebody has changed the limits: now they are ${limitsText(plan)}.
      <button type="button" @click=${this.reset}>Show these</button>
    </p>`;
  }
}

customElements.define('plan-limits-form', PlanLimitsForm);
