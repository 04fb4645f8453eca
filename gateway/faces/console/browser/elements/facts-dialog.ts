import { html } from 'lit';
import type { RecordFields } from '../../../../limits/record-fields.ts';
import { ask, type Question } from '../../../browser/elements/ask-dialog.ts';
import { field } from '../../../browser/elements/fields.ts';
import { formFields, recordFields } from '../../../browser/elements/key-fields.ts';
import type { PolledElement } from '../../../browser/elements/polled-element.ts';
import { api } from '../api.ts';
import { apiPath } from '../key.ts';
import type { Changed, CustomerDetail, KeyRow } from '../responses.ts';

/** Asks for what operators give a key or write about a customer. Only what differs is changed. */
export const askForFacts = (
  page: PolledElement<unknown>,
  record: KeyRow | CustomerDetail,
  fields: RecordFields,
  { done, hint = '', ...question }: Question & { done: string; hint?: string },
) =>
  ask(page, {
    ...question,
    message: () =>
      html`${field('Name', 'name', { required: true, value: record.name, autofocus: true })}
        ${recordFields(fields, record)}
        <p class="hint">${hint}</p>`,
    run(form, initial) {
      const given = Object.entries({ name: form('name'), ...formFields(fields, form) });
      const changed = given.filter(([name]) => form(name) !== initial(name));
      const body = { rev: record.rev, ...Object.fromEntries(changed) };
      return page.saved(api.patch<Changed>(apiPath(record.id), body), done);
    },
  });
