import { html } from 'lit';
import { limitsIn } from '../../../../limits/limits.ts';
import { hasWindow } from '../../../../limits/windows.ts';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { choice, type FormTexts } from '../../../browser/elements/fields.ts';
import type { PolledElement } from '../../../browser/elements/polled-element.ts';
import { api } from '../api.ts';
import { apiPath, keyTitle } from '../key.ts';
import { fetchPlans, formLimits, limitFields } from '../limit-fields.ts';
import type { Changed, CustomerDetail, KeyPlan } from '../responses.ts';
import { offer } from './operation-dialog.ts';

type Page = PolledElement<unknown>;

/** Fields for the plan and the own limits of a customer. @param customer undefined for a new one */
function limitsForm(form: FormTexts, plans: readonly KeyPlan[], customer?: CustomerDetail) {
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
export const askForLimits = (page: Page, customer: CustomerDetail) =>
  page.act(async () => {
    const plans = await fetchPlans();
    ask(page, {
      heading: `Plan and limits of ${keyTitle(customer)}`,
      action: 'Save limits',
      message: (form) => limitsForm(form, plans, customer),
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
export const askToIssue = (page: Page) =>
  page.act(async () => {
    const plans = await fetchPlans();
    offer(page, 'issueKey', undefined, {
      view: ([name, ...fields], form) =>
        html`${name} ${limitsForm(form, plans)}
          <div class="grid">${fields}</div>
          <p class="quiet">
            Without a date the key does not expire, and without scopes it may call all operations.
          </p>`,
      input: (form) => ({ plan: form('plan'), ...formLimits(form) }),
    }).act();
  });
