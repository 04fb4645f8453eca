import { html } from 'lit';
import { byText, customerTexts } from '../../../../limits/customer-texts.ts';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { choice, field, lengthField, meantBox } from '../../../browser/elements/fields.ts';
import { keyWords, scopesField, scopesIn } from '../../../browser/elements/key-fields.ts';
import type { PolledElement } from '../../../browser/elements/polled-element.ts';
import type { FormTexts } from '../../../browser/form-text.ts';
import { capitalized } from '../../../browser/format.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import { apiPath, keyTitle } from '../key.ts';
import { doubtText, formLimits, limitFields } from '../limit-fields.ts';
import { isoTime, localTime } from '../local-time.ts';
import { planOptions, withPlans } from '../plan-names.ts';
import type { Changed, CustomerDetail, KeyRow } from '../responses.ts';

type Page = PolledElement<unknown>;

/** Asks for the plan and own limits of a customer. */
export const askForLimits = (page: Page, customer: CustomerDetail) =>
  withPlans((plans) =>
    ask(page, {
      heading: `Plan and limits of ${keyTitle(customer)}`,
      action: 'Save limits',
      message: (form) =>
        html`<div class="fields">
            ${choice('Plan', 'plan', planOptions(plans), {
              value: customer.plan,
              autofocus: true,
            })}
            ${limitFields({
              label: 'Own limit',
              values: customer,
              placeholder: (name) => {
                const ofPlan = plans.find((plan) => plan.name === form('plan'))?.[name];
                return `${ofPlan ?? 'no limit'}, as its plan`;
              },
            })}
          </div>
          <p class="quiet">
            They are those of all keys of the customer. An empty limit is that of the plan. A change is in
            force from the next request on.
          </p>
          ${meantBox(doubtText(formLimits(form)))}`,
      run: (form) => {
        const body = { rev: customer.rev, plan: form('plan'), ...formLimits(form) };
        return page.saved(
          api.patch<Changed>(apiPath(customer.id), body),
          'Limits changed, from the next request on',
        );
      },
    }),
  );

/** What people give a key of its own. */
export function askForKeyFacts(page: Page, key: KeyRow) {
  const stored = {
    name: key.name,
    expiresAt: localTime(key.expiresAt ?? ''),
    scopes: key.scopes?.join(' ') ?? '',
  };
  askForFacts(page, key, stored, {
    heading: `Change ${keyTitle(key)}`,
    action: `Save ${keyWords}`,
    done: `${capitalized(keyWords)} changed`,
    message: () =>
      html`${field('Name', 'name', { required: true, value: stored.name, autofocus: true })}
        ${field('Expires (your time zone)', 'expiresAt', { type: 'datetime-local', step: '1', value: stored.expiresAt })}
        ${scopesField(stored.scopes)}
        <p class="hint">
          Without a time the key does not expire; without scopes it may call all operations.
        </p>`,
    bodyOf: (name, text) =>
      name === 'scopes' ? scopesIn(text) : name === 'expiresAt' ? isoTime(text) : text,
  });
}

/** What people write about a customer. */
export function askForCustomerFacts(page: Page, customer: CustomerDetail) {
  const stored = { name: customer.name, ...byText((text) => customer[text] ?? '') };
  askForFacts(page, customer, stored, {
    heading: `About ${keyTitle(customer)}`,
    action: 'Save the customer',
    done: 'The customer is changed',
    message: () =>
      html`${field('Name', 'name', { required: true, value: stored.name, autofocus: true })}
      ${Object.values(byText((name) => field(customerTexts[name].label, name, { value: stored[name] })))}`,
    bodyOf: (_name, text) => text,
  });
}

/**
 * Only what differs is changed.
 * @param stored text of each field
 * @param options bodyOf: what the API takes for a text, beside null for an empty one
 */
function askForFacts(
  page: Page,
  { id, rev }: { id: string; rev: unknown },
  stored: Record<string, string>,
  {
    bodyOf,
    done,
    ...question
  }: {
    heading: string;
    action: string;
    done: string;
    message: (form: FormTexts) => unknown;
    bodyOf: (name: string, text: string) => unknown;
  },
) {
  ask(page, {
    ...question,
    run: (form) => {
      const changed = Object.keys(stored).filter((name) => form(name) !== stored[name]);
      const body = changed.map((name) => [name, form(name) === '' ? null : bodyOf(name, form(name))]);
      return page.saved(api.patch<Changed>(apiPath(id), { rev, ...Object.fromEntries(body) }), done);
    },
  });
}

/** Asks for how long a key is to be banned, and for a reason that its client reads. */
export const askToBan = (page: Page, key: { id: string; name: string }) =>
  ask(page, {
    heading: `Ban ${keyTitle(key)}`,
    action: 'Ban the key',
    danger: true,
    asksReason: false,
    message: () =>
      html`<p>From its next request on, the key gets 429 until the ban ends. It replaces any other ban.</p>
        ${lengthField()}
        ${field('Reason, which the client reads in its responses', 'reason', { required: true })}`,
    run: (form) =>
      page.saved(
        api.put<Changed>(url`/api/keys/${key.id}/ban`, {
          seconds: Number(form('seconds')),
          reason: form('reason'),
        }),
        `${keyTitle(key)} is banned`,
      ),
  });
