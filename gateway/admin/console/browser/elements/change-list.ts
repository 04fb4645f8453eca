import { html } from 'lit';
import { formatNumber, formatTime } from '../format.ts';
import type { AuditEntry } from '../responses.ts';

/** What an entry of the audit log has changed, old → new. Of something new, only what it is. */
export function changeList({ changes, notMade }: Pick<AuditEntry, 'changes' | 'notMade'>) {
  if (changes.length === 0) return html`<span class="quiet">nothing</span>`;
  const isNew = changes.every(({ before }) => isNone(before));
  return html`${notMade === undefined ? '' : 'Not made:'}
    <ul class="changes">
      ${changes.map(
        ({ field, before, after }) =>
          html`<li>
            ${field}: ${isNew ? '' : html`<span class="old">${valueText(before)}</span> → `}<span class="new"
              >${valueText(after)}</span
            >
          </li>`,
      )}
    </ul>`;
}

const isNone = (value: unknown) => value === null || value === undefined || value === '';

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;

function valueText(value: unknown): unknown {
  if (isNone(value)) return 'none';
  if (typeof value === 'number') return formatNumber(value);
  if (typeof value === 'string') return isoTime.test(value) ? formatTime(value) : value;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value);
  // The start of a trial is in Unix milliseconds.
  return Object.entries(value).map(
    ([field, part], index) =>
      html`${index === 0 ? '' : ', '}${field}
      ${field === 'since' && typeof part === 'number' ? formatTime(new Date(part).toISOString()) : valueText(part)}`,
  );
}
