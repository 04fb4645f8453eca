import { html, nothing } from 'lit';
import { defaultLimits, knownIn, lackingWindows, maxLimit, parseLimit } from '../../../../limits/limits.ts';
import {
  equalPlanLimits,
  forPlanFields,
  shadowField,
  type ByPlanField,
} from '../../../../limits/shadow-limits.ts';
import { windowOf, windows } from '../../../../limits/windows.ts';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { field, meantBox } from '../../../browser/elements/fields.ts';
import { LightElement } from '../../../browser/elements/light-element.ts';
import { notify } from '../../../browser/elements/notice.ts';
import { inlineFailure } from '../../../browser/elements/page-state.ts';
import type { PolledElement } from '../../../browser/elements/polled-element.ts';
import { count, listTable } from '../../../browser/elements/table.ts';
import type { FormTexts } from '../../../browser/form-text.ts';
import { formatNumber } from '../../../browser/format.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import { keyLink } from '../key.ts';
import { doubtText, limitFields } from '../limit-fields.ts';
import { limitsText } from '../plan-text.ts';
import type { Changed, ChangedPlan, Plan, PlanPreview } from '../responses.ts';
import { router } from '../router.ts';

const typedLimits = (form: FormTexts) => forPlanFields((name) => parseLimit(form(name)) ?? null);

/** Fields for the limits of a plan, and which of its busiest customers are above them. @param plan undefined for a new one */
function limitsForm(form: FormTexts, plan?: Plan) {
  const limits = typedLimits(form);
  const lacking = lackingWindows(plan && defaultLimits(plan.name), knownIn(limits));
  return html`<div class="fields">
      ${limitFields({ label: 'Requests', lacking, ...(plan && { values: plan, focused: 'minute' }) })}
      ${windows.map(({ name, each }) =>
        field(`Shadow limit ${each}`, shadowField(name), {
          type: 'number',
          min: 1,
          max: maxLimit,
          placeholder: 'none',
          value: String(plan?.[shadowField(name)] ?? ''),
        }),
      )}
    </div>
    ${plan === undefined ? nothing : html`<above-limits .plan=${plan} .limits=${limits}></above-limits>`}
    ${meantBox(doubtText(limits))}`;
}

/** Asks for the limits of a plan, and shows which of its busiest customers are above them before they are saved. */
export const askForPlanLimits = (page: PolledElement<unknown>, plan: Plan) =>
  ask(page, {
    heading: `Limits of the plan ${plan.name}`,
    action: 'Save',
    message: (form) => limitsForm(form, plan),
    run: (form) =>
      page.saved(
        api.patch<ChangedPlan>(url`/api/plans/${plan.name}`, {
          ...typedLimits(form),
          confirmed: form('confirmed') !== '',
          expected: forPlanFields((name) => plan[name] ?? null),
        }),
        (changed) =>
          `${plan.name}: ${limitsText(changed.before ?? {})} → ${limitsText(changed)}. In force within a second.`,
      ),
  });

/** Asks for the name and the limits of a new plan, makes it, and shows it. */
export const askForPlan = (page: PolledElement<unknown>) =>
  ask(page, {
    heading: 'New plan',
    action: 'Make the plan',
    message: (form) =>
      html`${field('Name', 'name', {
        required: true,
        autofocus: true,
        maxlength: 32,
        hint: 'Lower-case letters, digits and dashes. It cannot be changed later.',
      })}
      ${limitsForm(form)}`,
    run: async (form) => {
      const name = form('name');
      const { warnings } = await api.patch<Changed>(url`/api/plans/${name}`, {
        ...knownIn(typedLimits(form)),
        create: true,
        confirmed: form('confirmed') !== '',
        expected: forPlanFields(() => null),
      });
      notify(`The plan ${name} was made. Customers can be moved to it now.`, warnings);
      router.navigate(url`/console/plans/${name}`);
    },
  });

/** Time without a key press after which the customers above the typed limits are asked for. */
const typingMs = 250;

/** Which of the busiest customers of a plan are above limits that are typed for it. */
class AboveLimits extends LightElement {
  plan: Plan | undefined;
  limits: ByPlanField<number | null> = {};
  above: PlanPreview['above'] | undefined;
  failure: unknown;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asked = '';

  override updated() {
    const { plan, limits } = this;
    const asked = JSON.stringify(limits);
    if (plan === undefined || asked === this.#asked) return;
    clearTimeout(this.#timer);
    this.#asked = asked;
    this.above = undefined;
    this.failure = undefined;
    const lacking = lackingWindows(defaultLimits(plan.name), knownIn(limits));
    if (lacking.length > 0 || equalPlanLimits(limits, plan)) return;
    this.#timer = setTimeout(() => void this.preview(plan, asked), typingMs);
  }

  async preview({ name }: Plan, asked: string) {
    try {
      const { above } = await api.post<PlanPreview>(url`/api/plans/${name}/preview`, knownIn(this.limits));
      if (asked === this.#asked) this.above = above;
    } catch (error) {
      this.failure = error;
    }
  }

  override render() {
    return html`<div class="effect" aria-live="polite">${inlineFailure(this.failure)} ${this.table()}</div>`;
  }

  table() {
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
}

customElements.define('above-limits', AboveLimits);
