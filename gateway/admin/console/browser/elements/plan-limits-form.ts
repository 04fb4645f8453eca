import { html, nothing } from 'lit';
import { field, meantBox } from '../../../../browser/elements/fields.ts';
import { count, listTable } from '../../../../browser/elements/table.ts';
import { formatNumber } from '../../../../browser/format.ts';
import { url } from '../../../../browser/url.ts';
import {
  defaultLimits,
  knownIn,
  lackingWindows,
  maxLimit,
  parseLimit,
  type Limits,
} from '../../../../limits/limits.ts';
import {
  equalPlanLimits,
  forPlanFields,
  shadowField,
  type ByPlanField,
  type PlanField,
} from '../../../../limits/shadow-limits.ts';
import { windowOf, windows, type ByWindow } from '../../../../limits/windows.ts';
import { api } from '../api.ts';
import { keyLink } from '../key.ts';
import { doubtText, limitFields } from '../limit-fields.ts';
import { limitsText } from '../plan-text.ts';
import type { Changed, Plan, PlanPreview } from '../responses.ts';
import { EditForm } from './edit-form.ts';

type PlanTexts = Record<PlanField, string>;

const planTexts = (plan: ByPlanField<number | null>): PlanTexts =>
  forPlanFields((name) => String(plan[name] ?? ''));

/** Null for an empty field. */
const typedLimits = (texts: PlanTexts) => forPlanFields((name) => parseLimit(texts[name]) ?? null);

const lacking = ({ name }: Plan, limits: ByWindow<number | null>) =>
  lackingWindows(defaultLimits(name), knownIn(limits));

/** Time without a key press after which the customers above the typed limits are asked for. */
const typingMs = 250;

/** The limits of a plan. Other ones show which of its busiest customers are above them before they are saved. */
class PlanLimitsForm extends EditForm<Plan, PlanTexts> {
  /** Whether unusual limits are meant. */
  confirmed = false;
  /** Customers above the typed limits; undefined until they are known. */
  above: PlanPreview['above'] | undefined;
  #typing: ReturnType<typeof setTimeout> | undefined;

  valuesOf(plan: Plan) {
    return planTexts(plan);
  }

  override reset() {
    super.reset();
    clearTimeout(this.#typing);
    this.confirmed = false;
    this.above = undefined;
  }

  /** Limits that were typed; undefined if they are none, or those that are stored. */
  get wanted() {
    const { typed, subject } = this;
    if (typed === undefined || subject === undefined) return undefined;
    const limits = typedLimits(typed);
    const isIncomplete = lacking(subject, limits).length > 0;
    return isIncomplete || equalPlanLimits(limits, subject) ? undefined : limits;
  }

  override onTyped() {
    this.#typing = setTimeout(() => void this.preview(), typingMs);
  }

  async preview() {
    const { typed, wanted, subject } = this;
    if (wanted === undefined || subject === undefined) return;
    try {
      const { above } = await api.post<PlanPreview>(url`/api/plans/${subject.name}/preview`, knownIn(wanted));
      if (typed === this.typed) this.above = above;
    } catch (error) {
      if (typed === this.typed) this.failure = error;
    }
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

  fields(plan: Plan, values: PlanTexts) {
    return html`<div class="fields">
        ${limitFields({ label: 'Requests', lacking: lacking(plan, typedLimits(values)), values })}
        ${windows.map(({ name, each }) =>
          field(`Shadow limit ${each}`, shadowField(name), {
            type: 'number',
            min: 1,
            max: maxLimit,
            placeholder: 'none',
            value: values[shadowField(name)],
          }),
        )}
      </div>
      <div class="effect" aria-live="polite">${this.aboveView()}</div>
      ${meantBox(this.doubts, {
        checked: this.confirmed,
        onInput: (isTicked) => (this.confirmed = isTicked),
      })}
      ${this.base === undefined ? nothing : this.overtakenView(this.base, plan)}`;
  }

  aboveView() {
    const { above } = this;
    if (above === undefined) return nothing;
    if (above.length === 0) {
      return html`<p>None of the busiest customers of the last minute is above these limits.</p>`;
    }
    return listTable(
      'Busiest customers above these limits',
      above,
      [
        ['Above these limits', keyLink],
        count(
          'Used of the limit',
          ({ window, used, limit }) =>
            `${formatNumber(used)} of ${formatNumber(limit)} ${windowOf(window).each}`,
        ),
      ],
      { headed: false, region: '' },
    );
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
