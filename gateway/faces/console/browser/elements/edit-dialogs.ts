import { html } from 'lit';
import {
  byKind,
  customerFields,
  keyFields,
  textIn,
  type RecordFields,
} from '../../../../limits/record-fields.ts';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { choice, field, lengthField, meantBox } from '../../../browser/elements/fields.ts';
import { formFields, keptWords, scopesField } from '../../../browser/elements/key-fields.ts';
import type { PolledElement } from '../../../browser/elements/polled-element.ts';
import { capitalized } from '../../../browser/format.ts';
import { localTime } from '../../../browser/local-time.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import { apiPath, keyTitle } from '../key.ts';
import { doubtText, formLimits, limitFields } from '../limit-fields.ts';
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

/** Asks for what operators give a key of its own. */
export const askForKeyFacts = (page: Page, key: KeyRow) =>
  askForFacts(page, key, keyFields, {
    heading: `Change ${keyTitle(key)}`,
    action: `Save ${keptWords(keyFields)}`,
    done: `${capitalized(keptWords(keyFields))} changed`,
    hint: 'Without a time the key does not expire; without scopes it may call all operations.',
  });

/** Asks for what people write about a customer. */
export const askForCustomerFacts = (page: Page, customer: CustomerDetail) =>
  askForFacts(page, customer, customerFields, {
    heading: `About ${keyTitle(customer)}`,
    action: 'Save the customer',
    done: 'The customer is changed',
    hint: '',
  });

/** Only what differs is changed. */
function askForFacts(
  page: Page,
  record: KeyRow | CustomerDetail,
  fields: RecordFields,
  { done, hint, ...question }: { heading: string; action: string; done: string; hint: string },
) {
  const stored: Record<string, string> = {
    name: record.name,
    ...byKind(fields, {
      text: (_field, name) => textIn(record, name),
      time: (_field, name) => localTime(textIn(record, name)),
      scopes: (_field, name) => textIn(record, name),
    }),
  };
  ask(page, {
    ...question,
    message: () =>
      html`${field('Name', 'name', { required: true, value: record.name, autofocus: true })}
      ${Object.values(
        byKind(fields, {
          text: ({ label }, name) => field(label, name, { value: stored[name] }),
          time: ({ label }, name) =>
            field(`${label} (your time zone)`, name, {
              type: 'datetime-local',
              step: '1',
              value: stored[name],
            }),
          scopes: ({ label }, name) => scopesField(label, name, stored[name]),
        }),
      )}
      ${hint && html`<p class="hint">${hint}</p>`}`,
    run: (form) => {
      const given: Record<string, unknown> = {
        name: form('name'),
        ...formFields(fields, form),
      };
      const changed = Object.keys(stored).filter((name) => form(name) !== stored[name]);
      const body = Object.fromEntries(changed.map((name) => [name, given[name]]));
      return page.saved(api.patch<Changed>(apiPath(record.id), { rev: record.rev, ...body }), done);
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
