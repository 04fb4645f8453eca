import { html } from 'lit';
import { formatNumber } from '../format.js';

/** @typedef {{ field: string, before: unknown, after: unknown }} FieldChange */

/**
 * @typedef {{
 *   id: string,
 *   at: string,
 *   who: string,
 *   action: string,
 *   target: string,
 *   changes: FieldChange[],
 * }} AuditEntry
 */

/** What an entry of the audit log has changed, old → new. @param {FieldChange[]} changes */
export const changeList = (changes) =>
  changes.length === 0
    ? html`<span class="quiet">nothing</span>`
    : html`<ul class="changes">
        ${changes.map(
          ({ field, before, after }) =>
            html`<li>${field}: <span class="old">${valueText(before)}</span> → <span class="new">${valueText(after)}</span></li>`,
        )}
      </ul>`;

/** @param {unknown} value */
function valueText(value) {
  if (value === null || value === undefined || value === '') return 'none';
  if (typeof value === 'number') return formatNumber(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
