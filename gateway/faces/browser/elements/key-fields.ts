import { byKind, keyFields, textIn, wordOf, type RecordFields } from '../../../limits/record-fields.ts';
import type { FormTexts } from '../form-text.ts';
import { isoTime, localTime } from '../format.ts';
import { field } from './fields.ts';

/** Names the fields that a rotation keeps: "name, expiry and scopes". */
export const keptWords = (fields: RecordFields) =>
  new Intl.ListFormat('en-GB').format(['name', ...Object.values(fields).map(wordOf)]);

/** The day on which a key expires, for a key that has no time yet. */
export const dateField = (label: string = keyFields.expiresAt.label, name = 'expiresAt') =>
  field(`${label} at the beginning of (UTC)`, name, { type: 'date' });

/** @returns null for all */
function scopesIn(text: string): string[] | null {
  const scopes = text.split(/[\s,]+/).filter((scope) => scope !== '');
  return scopes.length === 0 ? null : scopes;
}

/** Fields for what operators give a key or a customer, beside its name. @param record undefined for a new one */
export const recordFields = (fields: RecordFields, record?: object) =>
  Object.values(
    byKind(fields, {
      text: ({ label }, name) => field(label, name, { value: record && textIn(record, name) }),
      time: ({ label }, name) =>
        record === undefined
          ? dateField(label, name)
          : field(`${label} (your time zone)`, name, {
              type: 'datetime-local',
              step: '1',
              value: localTime(textIn(record, name)),
            }),
      scopes: ({ label }, name) =>
        field(label, name, { placeholder: 'all', value: record && textIn(record, name), maxlength: 5000 }),
    }),
  );

/** What the API takes for what is in a form; null for an empty field. */
export const formFields = (fields: RecordFields, form: FormTexts) =>
  byKind(fields, {
    text: (_field, name) => form(name) || null,
    time: (_field, name) => isoTime(form(name)) || null,
    scopes: (_field, name) => scopesIn(form(name)),
  });
