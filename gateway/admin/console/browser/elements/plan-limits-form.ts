import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { limitsText } from '../plan-text.ts';
import type { Changed, Plan, PlanEffect } from '../responses.ts';
import { session } from '../session.ts';
import { url } from '../url.ts';
import { LimitsForm } from './limits-form.ts';
import { effectText } from './plan-effect-text.ts';

type SomeLimits = Pick<Plan, 'minute' | 'day'>;
type Values = { minute: string; day: string };

/** The limits of a plan. */
class PlanLimitsForm extends LimitsForm<Plan, Values, PlanEffect> {
  static override properties = { confirmed: { state: true } };

  override readonly labels = { save: 'Save', try: 'Try without refusing' };
  /** Whether a day limit below the minute limit is meant. */
  confirmed = false;

  constructor() {
    super();
    this.addEventListener('focusin', this.prepare);
  }

  valuesOf({ minute, day }: Plan) {
    return { minute: String(minute ?? ''), day: String(day ?? '') };
  }

  override reset() {
    super.reset();
    this.confirmed = false;
  }

  /** Limits that were typed; undefined if they are none, or those that are stored. */
  get wanted() {
    const { typed, subject } = this;
    const [minute, day] = [toLimit(typed?.minute ?? ''), toLimit(typed?.day ?? '')];
    if (minute === undefined || day === undefined) return undefined;
    return minute === subject?.minute && day === subject.day ? undefined : { minute, day };
  }

  /** The count of many keys takes seconds, so it begins when somebody is about to type. */
  prepare() {
    const { subject } = this;
    if (!session.isOperator || subject === undefined || !isComplete(subject)) return;
    void this.readEffect(subject, this.valuesOf(subject)).catch(() => {});
  }

  readEffect({ name }: Plan, { minute, day }: Values) {
    return api.post<PlanEffect>(url`/api/plans/${name}/effect`, { minute: Number(minute), day: Number(day) });
  }

  async save({ name, minute, day }: Plan) {
    const { wanted, confirmed } = this;
    const body = { ...wanted, confirmed, expected: { minute, day } };
    const changed = await api.patch<Changed<{ minute: number; day: number; before: SomeLimits }>>(
      url`/api/plans/${name}`,
      body,
    );
    return [
      `${name}: ${limitsText(changed.before)} → ${limitsText(changed)}. In force within a second.`,
      changed,
    ] as const;
  }

  async try(plan: Plan) {
    const { name, minute, day, trial } = this.subject ?? plan;
    const wanted = this.wanted ?? { minute, day };
    const body = {
      ...(wanted.minute === minute ? {} : { minute: wanted.minute }),
      ...(wanted.day === day ? {} : { day: wanted.day }),
      expected: { since: trial?.since ?? null },
    };
    const changed = await api.put<Changed>(url`/api/plans/${name}/trial`, body);
    return [`The trial of ${limitsText(wanted)} has begun. Nothing is refused for it.`, changed] as const;
  }

  get canSave() {
    return this.wanted !== undefined && (!this.isUnusual || this.confirmed);
  }

  get canTry() {
    const { wanted, subject } = this;
    return wanted !== undefined && subject !== undefined && isComplete(subject);
  }

  get isUnusual() {
    return this.wanted !== undefined && this.wanted.day < this.wanted.minute;
  }

  fields(_plan: Plan, { minute, day }: Values) {
    return html`${limitInput('minute', 'Requests a minute', minute)}
    ${limitInput('day', 'Requests a day', day)}`;
  }

  effectView() {
    if (!session.isOperator) return nothing;
    if (this.wanted === undefined)
      return html`<p class="quiet">Type other limits to see what they would do.</p>`;
    if (this.effect !== undefined) return effectText(this.effect);
    return this.effectFailure === undefined ? html`<p class="quiet">Looking at the keys…</p>` : nothing;
  }

  override questionView() {
    if (!this.isUnusual) return nothing;
    return html`<label class="check"
      ><input
        type="checkbox"
        .checked=${this.confirmed}
        @change=${({ target }: Event) => {
          if (target instanceof HTMLInputElement) this.confirmed = target.checked;
        }}
      />
      The day limit is less than the minute limit, so the minute limit is never reached. I mean that.</label
    >`;
  }

  overtakenView(seen: Plan, plan: Plan) {
    if (seen.minute === plan.minute && seen.day === plan.day) return nothing;
    return html`<p class="warnings">
      Meanwhile somebody has changed the limits: now they are ${limitsText(plan)}.
      <button type="button" @click=${this.reset}>Show these</button>
    </p>`;
  }
}

const limitInput = (name: string, label: string, value: string) =>
  html`<label
    >${label}
    <input name=${name} type="number" inputmode="numeric" min="1" max="1000000000" required .value=${value} />
  </label>`;

const isComplete = ({ minute, day }: SomeLimits): boolean => minute !== null && day !== null;

function toLimit(text: string) {
  return /^[1-9]\d{0,9}$/.test(text) && Number(text) <= 1e9 ? Number(text) : undefined;
}

customElements.define('plan-limits-form', PlanLimitsForm);
