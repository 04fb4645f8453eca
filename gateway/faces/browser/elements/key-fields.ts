import type { KeyFields } from '../../../control/keys/key-input.ts';
import type { FormTexts } from '../form-text.ts';
import { field } from './fields.ts';

const words: Record<'name' | keyof KeyFields, string> = {
  name: 'name',
  expiresAt: 'expiry',
  scopes: 'scopes',
};

/** What people give a key of its own: "name, expiry and scopes". */
export const keyWords = new Intl.ListFormat('en-GB').format(Object.values(words));

/** The day on which a key expires, for a key that has no time yet. */
export const expiryDateField = () =>
  field('Expires at the beginning of (UTC)', 'expiresAt', { type: 'date' });

/** A field for scopes, separated by spaces; empty for all. */
export const scopesField = (value = '') =>
  field('Scopes', 'scopes', { placeholder: 'all', value, maxlength: 5000 });

/** @returns null for all */
export function scopesIn(text: string): string[] | null {
  const scopes = text.split(/[\s,]+/).filter((scope) => scope !== '');
  return scopes.length === 0 ? null : scopes;
}

/** Fields for what operators give a new key, beside its name. */
export const keyFields = () =>
  Object.values({
    expiresAt: expiryDateField(),
    scopes: scopesField(),
  } satisfies Record<keyof KeyFields, unknown>);

/** What the API takes for what is in them. */
export const formKeyFields = (form: FormTexts): Record<keyof KeyFields, unknown> => ({
  expiresAt: form('expiresAt') || null,
  scopes: scopesIn(form('scopes')),
});
