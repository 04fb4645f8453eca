import { html, nothing } from 'lit';
import {
  defaultLimits,
  forPlanFields,
  lackingWindows,
  limitsIn,
  maxLimit,
  shadowField,
  type PlanField,
} from '../../../../limits/limits.ts';
import { forAll, hasWindow, windowOf, windows, type WindowName } from '../../../../limits/windows.ts';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { choice, field, type FieldOptions, type FormTexts } from '../../../browser/elements/fields.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { count, listTable } from '../../../browser/elements/table.ts';
import { formatNumber } from '../../../browser/format.ts';
import { api, url } from '../api.ts';
import { apiPath, keyLink, keyTitle } from '../key.ts';
import type { Changed, ChangedPlan, CustomerDetail, KeyPlan, Page, Plan, PlanPreview } from '../responses.ts';
import { router } from '../router.ts';
import { limitsText } from '../setting-text.ts';
import { offer } from './operation-dialog.ts';

/** Plans that a customer can be on. */
export const fetchPlans = async () => (await api.get<Page<KeyPlan>>('/api/key-plans')).items;

/** @returns null for no limit. Browsers accept any notation of a number, such as 1e3; the API checks its value. */
const limitIn = (form: FormTexts, name: PlanField) => (form(name) === '' ? null : Number(form(name)));

const formLimits = (form: FormTexts): Record<WindowName, number | null> =>
  forAll((name) => limitIn(form, name));

/** A field for the limit of each window. @param label before words such as "a minute" */
const limitFields = (
  label: string,
  optionsOf: (name: WindowName) => FieldOptions,
  nameOf: (name: WindowName) => PlanField = (name) => name,
) =>
  windows.map(({ name, each }) =>
    field(`${label} ${each}`, nameOf(name), {
      type: 'number',
      min: 1,
      max: maxLimit,
      placeholder: 'no limit',
      ...optionsOf(name),
    }),
  );

/** Fields for the plan and the own limits of a customer. @param customer undefined for a new one */
function customerLimits(form: FormTexts, plans: readonly KeyPlan[], customer?: CustomerDetail) {
  const plan = plans.find(({ name }) => name === form('plan'));
  const needsOwn = plan?.needsOwnLimits === true;
  const limits = formLimits(form);
  return html`<div class="grid">
      ${choice(
        'Plan',
        'plan',
        plans.map(({ name }) => [name, name]),
        { value: customer?.plan ?? 'free' },
      )}
      ${limitFields('Own limit', (name) => ({
        value: customer?.[name],
        required: needsOwn && !hasWindow(limitsIn(limits)),
        autofocus: customer !== undefined && name === 'minute',
        placeholder: needsOwn ? '' : `${plan?.[name] ?? 'no limit'}, as its plan`,
      }))}
    </div>
    <p class="quiet">
      They are those of all keys of the customer.
      ${needsOwn ? `Customers on ${plan.name} need a limit of their own.` : 'An empty limit is that of the plan.'}
      A change is in force from the next request on.
    </p>`;
}

/** Asks for the plan and own limits of a customer. */
export const askForLimits = (page: PolledElement<unknown>, customer: CustomerDetail) =>
  page.act(async () => {
    const plans = await fetchPlans();
    ask(page, {
      heading: `Plan and limits of ${keyTitle(customer)}`,
      action: 'Save limits',
      message: (form) => customerLimits(form, plans, customer),
      run: (form) =>
        page.saved(
          api.patch<Changed>(apiPath(customer.id), {
            rev: customer.rev,
            plan: form('plan'),
            ...formLimits(form),
          }),
          'Limits changed, from the next request on',
        ),
    });
  });

/** Issues a key of a new customer. */
export const askToIssue = (page: PolledElement<unknown>) =>
  page.act(async () => {
    const plans = await fetchPlans();
    offer(page, 'issueKey', undefined, {
      view: ([name, ...fields], form) =>
        html`${name} ${customerLimits(form, plans)}
          <div class="grid">${fields}</div>
          <p class="quiet">
            Without a date the key does not expire, and without scopes it may call all operations.
          </p>`,
      input: (form) => ({ plan: form('plan'), ...formLimits(form) }),
    }).act();
  });

const typedLimits = (form: FormTexts) => forPlanFields((name) => limitIn(form, name));

/** Fields for the limits of a plan, and which of its busiest customers are above them. @param plan undefined for a new one */
function planLimits(form: FormTexts, plan?: Plan) {
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
    message: (form) => html`${plan === undefined ? nameField() : nothing} ${planLimits(form, plan)}`,
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
