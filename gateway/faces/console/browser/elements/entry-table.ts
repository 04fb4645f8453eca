import { html, nothing } from 'lit';
import { windowNames } from '../../../../limits/windows.ts';
import { listTable } from '../../../browser/elements/table.ts';
import { formatNumber, formatTime, withTimes } from '../../../browser/format.ts';
import { url } from '../../../browser/request.ts';
import { keyPath, planLink } from '../key.ts';
import type { AuditEntry } from '../responses.ts';

/** Entries of the audit log as sentences, which unfold to what was changed. In their order. */
export function entryTable(label: string, entries: readonly AuditEntry[], none: string) {
  return listTable<AuditEntry>(
    label,
    entries,
    [
      ['When', ({ at }) => (at === '' ? 'unknown' : formatTime(at))],
      [
        'What',
        (entry) =>
          html`${sentenceOf(entry)}
            <details>
              <summary class="quiet">more</summary>
              <code class="quiet">${entry.action}</code> ${changeList(entry)}
            </details>`,
      ],
    ],
    { headed: false, region: 'entries', none },
  );
}

const sentenceOf = ({ who, action, verb, target, targetName, targetHint, reason }: AuditEntry) =>
  html`<a href=${url`/console/audit?who=${who}`}>${who}</a> ${verb} ${targetLink(action, target, targetName)}
    ${targetHint === null ? nothing : html`<code>${targetHint}</code>`}
    ${reason === undefined ? nothing : html`<span class="quiet">– ${reason}</span>`}`;

function targetLink(action: string, target: string, name: string | null) {
  // Whoever signs in is the person itself.
  if (action === 'console.sign_in') return nothing;
  if (/^(?:key|cus)_/.test(target)) {
    return html`<a href=${keyPath(target)} title=${target}>${name ?? target}</a>`;
  }
  if (target === 'anonymous' || /^(?:policy|usage)\./.test(action))
    return html`<a href="/console/bans">${target}</a>`;
  return action.startsWith('plans.') ? planLink(target) : (name ?? target);
}

/** What an entry of the audit log has changed, old → new. Of something new, only what it is. */
function changeList({ changes, notMade, target }: AuditEntry) {
  if (changes.length === 0) return html`<span class="quiet">nothing</span>`;
  const isNew = changes.every(({ before }) => isNone(before));
  /** What holds in place of a value that is absent. */
  const absent = (field: string) =>
    /^(?:key|cus)_/.test(target) && windowNames.some((name) => name === field) ? "the plan's" : 'none';
  return html`${notMade === undefined ? '' : 'Not made:'}
    <ul class="changes">
      ${changes.map(
        ({ field, before, after }) =>
          html`<li>
            ${field}:
            ${isNew ? '' : html`<span class="bad">${valueText(before, absent(field))}</span> → `}<span
              class="good"
              >${valueText(after, absent(field))}</span
            >
          </li>`,
      )}
    </ul>`;
}

const isNone = (value: unknown) => value === null || value === undefined || value === '';

function valueText(value: unknown, absent = 'none'): unknown {
  if (isNone(value)) return absent;
  if (Array.isArray(value) && value.length === 0) return 'none';
  if (typeof value === 'number') return formatNumber(value);
  if (typeof value === 'string') return withTimes(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value);
  return Object.entries(value).map(
    ([field, part], index) => html`${index === 0 ? '' : ', '}${field} ${valueText(part)}`,
  );
}
