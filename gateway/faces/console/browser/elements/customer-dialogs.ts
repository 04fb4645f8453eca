import { html } from 'lit';
import { knownIn } from '../../../../limits/limits.ts';
import { customerFields, keyFields } from '../../../../limits/record-fields.ts';
import { hasWindow } from '../../../../limits/windows.ts';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { choice, field, formFields, recordFields, type FormTexts } from '../../../browser/elements/fields.ts';
import { hasEnded } from '../../../browser/elements/key-columns.ts';
import type { Action } from '../../../browser/elements/menu.ts';
import type { PolledElement } from '../../../browser/elements/polled-element.ts';
import { formatTime, plural } from '../../../browser/format.ts';
import { api } from '../api.ts';
import { apiPath, keyTitle } from '../key.ts';
import { fetchPlans, formLimits, limitFields, meantBox } from '../limit-fields.ts';
import type { Changed, CustomerDetail, CustomerRow, IssuedKey, KeyPlan, PortalLink } from '../responses.ts';
import { router } from '../router.ts';
import { askForFacts, askForKey, showKey } from './key-dialogs.ts';

type Page = PolledElement<unknown>;

/** What can be done with a customer, beside adding a key. */
export function customerActions(page: Page, customer: CustomerRow | CustomerDetail): (Action | false)[] {
  const path = apiPath(customer.id);
  const hasKeys = 'items' in customer ? !customer.items.every(hasEnded) : customer.keys > 0;
  return [
    { text: 'Make a link to the portal…', act: () => makeLink(page, path) },
    {
      text: "Reset today's usage",
      act: () =>
        page.make(
          () => api.delete(`${path}/day`),
          `Today's usage of ${keyTitle(customer)} counts from 0 again`,
        ),
    },
    customer.state === 'suspended'
      ? {
          text: 'Resume',
          act: () => page.make(() => api.post(`${path}/resume`), 'The customer is active again'),
        }
      : { text: 'Suspend…', tone: 'danger', act: () => askToSuspend(page, customer) },
    !hasKeys && { text: 'Remove…', tone: 'danger', act: () => askToRemove(page, customer) },
  ];
}

/** Makes a link to the portal, and shows it. */
const makeLink = (page: Page, path: string) =>
  page.act(async () => {
    const made = await api.post<PortalLink>(`${path}/link`);
    ask(page, {
      heading: 'Link to the portal',
      secret: {
        noun: 'link',
        label: 'Link to the portal',
        text: made.link,
        about: html`For the customer. It works once, until
        ${formatTime(made.expiresAt, { dateStyle: 'time' })}, and begins a session of an hour. It is not shown
        again.`,
        warnings: made.warnings,
      },
    });
  });

const askToSuspend = (page: Page, customer: CustomerRow) =>
  page.confirm({
    heading: `Suspend ${keyTitle(customer)}?`,
    action: 'Suspend the customer',
    says: `Requests of ${plural(customer.keys, 'key')} get 401 from the next one on, until you resume it.`,
    change: () => api.post(`${apiPath(customer.id)}/suspend`),
    done: 'The customer is suspended: requests of all its keys are refused from now on',
  });

const askToRemove = (page: Page, customer: CustomerRow) =>
  page.confirm({
    heading: `Remove ${keyTitle(customer)}?`,
    action: 'Remove the customer',
    typed: keyTitle(customer),
    says: 'Its record and those of its keys are deleted. What it has used stays in the record of use.',
    change: () => api.delete(apiPath(customer.id)),
    done: () => {
      router.navigate('/console/customers');
      return `${keyTitle(customer)} is removed`;
    },
  });

/** Asks for what people write about a customer. */
export const askForCustomerFacts = (page: Page, customer: CustomerDetail) =>
  askForFacts(page, customer, customerFields, {
    heading: `About ${keyTitle(customer)}`,
    action: 'Save the customer',
    done: 'The customer is changed',
  });

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
        required: needsOwn && !hasWindow(knownIn(limits)),
        placeholder: needsOwn ? '' : `${plan?.[name] ?? 'no limit'}, as its plan`,
      }))}
    </div>
    <p class="quiet">
      They are those of all keys of the customer.
      ${needsOwn ? `Customers on ${plan.name} need a limit of their own.` : 'An empty limit is that of the plan.'}
      A change is in force from the next request on.
    </p>
    ${meantBox('the customer', limits)}`;
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

/** Issues a key of a new customer. @param done called with the key when it is stored elsewhere */
export const askToIssue = (page: Page, done: (issued: IssuedKey) => unknown = showKey) =>
  page.act(async () => {
    const plans = await fetchPlans();
    askForKey(page, {
      heading: 'New customer with a key',
      action: 'Issue the key',
      message: (form) =>
        html`${field('Name of the customer', 'name', { required: true, autofocus: true })}
          ${limitsForm(form, plans)}
          <div class="grid">${recordFields(keyFields)}</div>
          <p class="quiet">
            Without a date the key does not expire, and without scopes it may call all operations.
          </p>`,
      path: () => '/api/keys',
      body: (form) => ({
        name: form('name'),
        plan: form('plan'),
        ...formFields(keyFields, form),
        ...formLimits(form),
      }),
      done,
    });
  });
