import { html } from 'lit';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import type { Action } from '../../../browser/elements/menu.ts';
import type { PolledElement } from '../../../browser/elements/polled-element.ts';
import { formatTime, plural } from '../../../browser/format.ts';
import { api } from '../api.ts';
import { apiPath, keyTitle } from '../key.ts';
import type { Changed, CustomerDetail, CustomerRow, PortalLink } from '../responses.ts';
import { router } from '../router.ts';

type Page = PolledElement<unknown>;

/** What can be done with a customer, beside adding a key. */
export function customerActions(page: Page, customer: CustomerRow | CustomerDetail): Action[] {
  const path = apiPath(customer.id);
  const windows = 'windows' in customer ? customer.windows : customer.use?.windows;
  const hasNoKeys =
    'items' in customer
      ? customer.items.every((key) => key.state === 'revoked' || key.state === 'expired')
      : customer.keys === 0;
  return [
    { text: 'Make a link to the portal', act: () => makeLink(page, path) },
    {
      text: "Reset today's usage",
      isDisabled: (windows?.day?.used ?? 0) === 0,
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
      : { text: 'Suspend…', isDanger: true, act: () => askToSuspend(page, customer) },
    ...(hasNoKeys ? [{ text: 'Remove…', isDanger: true, act: () => askToRemove(page, customer) }] : []),
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
  ask(page, {
    heading: `Suspend ${keyTitle(customer)}?`,
    action: 'Suspend the customer',
    danger: true,
    message: () =>
      html`<p>
        Requests of ${plural(customer.keys, 'key')} get 401 from the next one on, until you resume it.
      </p>`,
    run: () =>
      page.saved(
        api.post<Changed>(`${apiPath(customer.id)}/suspend`),
        'The customer is suspended: requests of all its keys are refused from now on',
      ),
  });

const askToRemove = (page: Page, customer: CustomerRow) =>
  ask(page, {
    heading: `Remove ${keyTitle(customer)}?`,
    action: 'Remove the customer',
    danger: true,
    typed: keyTitle(customer),
    message: () =>
      html`<p>Its record and those of its keys are deleted. What it has used stays in the record of use.</p>`,
    run: async () => {
      await api.delete(apiPath(customer.id));
      if (router.location.path === '/console/customers') await page.reload();
      router.navigate('/console/customers');
    },
  });
