import { html, nothing } from 'lit';
import { listTable } from '../../browser/elements/table.ts';
import { formatTime } from '../../browser/format.ts';
import type { Failures, Key } from './responses.ts';

/** So many are shown at once: on a phone, each is a card of its own. */
const shownAtOnce = 5;

/** The last failed requests, and what to do about each. */
export function failureList(failures: Failures['items'], keys: Key[]) {
  const earlier = failures.slice(shownAtOnce);
  return html`<h2>Last failed requests</h2>
    ${
      failures.length === 0
        ? html`<p class="quiet">None in the last seven days.</p>`
        : failureTable('Last failed requests', failures.slice(0, shownAtOnce), keys)
    }
    ${
      earlier.length === 0
        ? nothing
        : html`<details>
            <summary>Earlier ones: ${earlier.length}</summary>
            ${failureTable('Earlier failed requests', earlier, keys)}
          </details>`
    }`;
}

function failureTable(label: string, failures: Failures['items'], keys: Key[]) {
  const names = new Map(keys.map(({ id, name }) => [id, name]));
  return listTable(
    label,
    failures,
    [
      ['Time', ({ at }) => formatTime(at)],
      ['Request', ({ method, route }) => `${method} ${route === 'unmatched' ? '(unknown path)' : route}`],
      ['Error', ({ status, code }) => html`${status} ${code}`],
      ['Key', ({ keyId }) => names.get(keyId) ?? keyId],
      ['Request id', ({ requestId }) => html`<code>${requestId}</code>`],
      ['What to do', ({ code }) => aboutCode(code)],
    ],
    { headed: false },
  );
}

const aboutCode = (code: string | null) =>
  code === null
    ? 'The body of the response says what is wrong.'
    : html`<a href=${`/docs#${code}`}>About ${code}</a>`;
