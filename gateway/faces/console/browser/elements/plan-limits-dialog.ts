import { html, nothing } from 'lit';
import {
  defaultLimits,
  forPlanFields,
  lackingWindows,
  limitsIn,
  parseLimit,
  shadowField,
} from '../../../../limits/limits.ts';
import { windowOf } from '../../../../limits/windows.ts';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { field, type FormTexts } from '../../../browser/elements/fields.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { count, listTable } from '../../../browser/elements/table.ts';
import { formatNumber } from '../../../browser/format.ts';
import { api, url } from '../api.ts';
import { keyLink } from '../key.ts';
import { limitFields } from '../limit-fields.ts';
import type { ChangedPlan, Plan, PlanPreview } from '../responses.ts';
import { router } from '../router.ts';
import { limitsText } from '../setting-text.ts';

const typedLimits = (form: FormTexts) => forPlanFields((name) => parseLimit(form(name)) ?? null);

/** Fields for the limits of a plan, and which of its busiest customers are above them. @param plan undefined for a new one */
function limitsForm(form: FormTexts, plan?: Plan) {
  const limits = typedLimits(form);
  const lacking = lackingWindows(plan && defaultLimits(plan.name), limitsIn(limits));
  return html`<div class="grid">
      ${limitFields('Requests', (name) => ({
        value: plan?.[name],
        required: lacking.includes(name),
        autofocus: name === 'minute',
      }))}
      ${limitFields('Shadow limit', (name) => ({ value: plan?.[shadowField(name)] }), shadowField)}
    </div>
    ${
      plan === undefined
        ? nothing
        : html`<div class="effect" aria-live="polite">
            <above-limits .plan=${plan.name} .limits=${JSON.stringify(limitsIn(limits))}></above-limits>
          </div>`
    }`;
}

/** Asks for the limits of a plan. @param plan undefined for a new one, which is made and shown */
export const askForPlanLimits = (page: PolledElement<unknown>, plan?: Plan) =>
  ask(page, {
    heading: plan === undefined ? 'New plan' : `Limits of the plan ${plan.name}`,
    action: plan === undefined ? 'Make the plan' : 'Save',
    message: (form) => html`${plan === undefined ? nameField() : nothing} ${limitsForm(form, plan)}`,
    run: async (form) => {
      const name = plan?.name ?? form('name');
      const change = api.patch<ChangedPlan>(url`/api/plans/${name}`, {
        ...typedLimits(form),
        create: plan === undefined,
        expected: forPlanFields((field) => plan?.[field] ?? null),
      });
      await page.saved(
        change,
        (made) =>
          `${name}: ${limitsText(made.before ?? {}, 'new')} → ${limitsText(made)}. In force within a second.`,
      );
      if (plan === undefined) router.navigate(url`/console/plans/${name}`);
    },
  });

const nameField = () =>
  field('Name', 'name', {
    required: true,
    autofocus: true,
    maxlength: 32,
    hint: 'Lower-case letters, digits and dashes. It cannot be changed later.',
  });

/** Which of the busiest customers of a plan are above limits that are typed for it. */
class AboveLimits extends PolledElement<PlanPreview> {
  plan = '';
  /** As the API takes them. */
  limits = '{}';

  override updated(changed: Map<string, unknown>) {
    if (changed.has('limits')) void this.reload();
  }

  read() {
    return api.post<PlanPreview>(url`/api/plans/${this.plan}/preview`, JSON.parse(this.limits));
  }

  view({ above }: PlanPreview) {
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
      {
        headed: false,
        none: 'None of the busiest customers of the last minute is above these limits.',
      },
    );
  }
}

customElements.define('above-limits', AboveLimits);
