import { html, nothing } from 'lit';
import { failureTable } from '../../browser/elements/failure-table.ts';
import type { Failures, Key } from './responses.ts';

/** So many are shown at once. */
const shownAtOnce = 5;

/** The last failed requests, and what to do about each. */
export function failureList(failures: Failures['items'], keys: Key[]) {
  const names = new Map(keys.map(({ id, name }) => [id, name]));
  const table = (label: string, shown: Failures['items']) =>
    failureTable(label, shown, ({ keyId }) => names.get(keyId) ?? keyId, [
      'What to do',
      ({ code }) => aboutCode(code),
    ]);
  const earlier = failures.slice(shownAtOnce);
  return html`<h2>Last failed requests</h2>
    ${table('Last failed requests', failures.slice(0, shownAtOnce))}
    ${
      earlier.length === 0
        ? nothing
        : html`<details>
            <summary>Earlier ones: ${earlier.length}</summary>
            ${table('Earlier failed requests', earlier)}
          </details>`
    }`;
}

const aboutCode = (code: string | null) =>
  code === null
    ? 'The body of the response says what is wrong.'
    : html`<a href=${`/docs#${code}`}>About ${code}</a>`;
