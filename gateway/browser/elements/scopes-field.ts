import { field } from './fields.ts';

/** The day on which a key expires, for a key that has no time yet. */
export const expiryDateField = () => field('Expires at the beginning of (UTC)', 'expires', { type: 'date' });

/** A field for scopes, separated by spaces; empty for all. */
export const scopesField = (value = '') =>
  field('Scopes', 'scopes', { placeholder: 'all', value, maxlength: 5000 });

/** @returns null for all */
export function scopesIn(text: string): string[] | null {
  const scopes = text.split(/[\s,]+/).filter((scope) => scope !== '');
  return scopes.length === 0 ? null : scopes;
}
