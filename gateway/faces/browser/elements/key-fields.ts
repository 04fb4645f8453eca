import { byKind, keyFields, wordOf, type RecordFields } from '../../../limits/record-fields.ts';
import type { FormTexts } from '../form-text.ts';
import { isoTime } from '../local-time.ts';
import { field } from './fields.ts';

/** Names the fields that a rotation keeps: "name, expiry and scopes". */
export const keptWords = (fields: RecordFields) =>
  new Intl.ListFormat('en-GB').format(['name', ...Object.values(fields).map(wordOf)]);

/** The day on which a key expires, for a key that has no time yet. */
export const dateField = (label: string = keyFields.expiresAt.label, name = 'expiresAt') =>
  field(`${label} at the beginning of (UTC)`, name, { type: 'date' });

/** A field for scopes, separated by spaces; empty for all. */
export const scopesField = (label: string, name: string, value = '') =>
  field(label, name, { placeholder: 'all', value, maxlength: 5000 });

/** @returns null for all */
function scopesIn(text: string): string[] | null {
  const scopes = text.split(/[\s,]+/).filter((scope) => scope !== '');
  return scopes.length === 0 ? null : scopes;
}

/** Fields for what operators give a new key, beside its name. */
export const newKeyFields = () =>
  Object.values(
    byKind(keyFields, {
      text: ({ label }, name) => field(label, name),
      time: ({ label }, name) => dateField(label, name),
      scopes: ({ label }, name) => scopesField(label, name),
    }),
  );

/** What the API takes for what is in a form; null for an empty field. */
export const formFields = (fields: RecordFields, form: FormTexts) =>
  byKind(fields, {
    text: (_field, name) => form(name) || null,
    time: (_field, name) => isoTime(form(name)) || null,
    scopes: (_field, name) => scopesIn(form(name)),
  });
