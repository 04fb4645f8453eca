import { html } from 'lit';
import { formText } from './form-text.ts';

/** A field for scopes, separated by spaces; empty for all. */
export const scopesField = (scopes: readonly string[] | null) =>
  html`<label
    >Scopes
    <input
      name="scopes"
      placeholder="all"
      autocapitalize="none"
      spellcheck="false"
      .value=${scopesText(scopes)}
  /></label>`;

export const scopesText = (scopes: readonly string[] | null) => scopes?.join(' ') ?? '';

/** @returns null for all */
export function formScopes(form: FormData): string[] | null {
  const scopes = formText(form, 'scopes')
    .split(/[\s,]+/)
    .filter((scope) => scope !== '');
  return scopes.length === 0 ? null : scopes;
}
