import './above-limits.ts';
import { html } from 'lit';
import { defaultLimits, knownIn, lackingWindows, maxLimit, parseLimit } from '../../../../limits/limits.ts';
import { forPlanFields, shadowField } from '../../../../limits/shadow-limits.ts';
import { windows } from '../../../../limits/windows.ts';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { field, meantBox } from '../../../browser/elements/fields.ts';
import type { PolledElement } from '../../../browser/elements/polled-element.ts';
import type { FormTexts } from '../../../browser/form-text.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import { doubtText, limitFields } from '../limit-fields.ts';
import { limitsText } from '../plan-text.ts';
import type { ChangedPlan, Plan } from '../responses.ts';

const typedLimits = (form: FormTexts) => forPlanFields((name) => parseLimit(form(name)) ?? null);

/** Asks for the limits of a plan, and shows which of its busiest customers are above them before they are saved. */
export const askForPlanLimits = (page: PolledElement<unknown>, plan: Plan) =>
  ask(page, {
    heading: `Limits of the plan ${plan.name}`,
    action: 'Save',
    message: (form) => {
      const limits = typedLimits(form);
      const lacking = lackingWindows(defaultLimits(plan.name), knownIn(limits));
      return html`<div class="fields">
          ${limitFields({ label: 'Requests', lacking, values: plan, focused: 'minute' })}
          ${windows.map(({ name, each }) =>
            field(`Shadow limit ${each}`, shadowField(name), {
              type: 'number',
              min: 1,
              max: maxLimit,
              placeholder: 'none',
              value: String(plan[shadowField(name)] ?? ''),
            }),
          )}
        </div>
        <above-limits .plan=${plan} .limits=${limits}></above-limits>
        ${meantBox(doubtText(limits))}`;
    },
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
