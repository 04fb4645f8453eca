import { html } from 'lit';
import type { Failure } from '../../../quota/failures.ts';
import { formatTime } from '../format.ts';
import { listTable } from './table.ts';

/** Failed requests, newest first. @param keyOf names the key of one. @param about what links a code to what it means */
export const failureTable = (
  failures: readonly Failure[],
  keyOf: (failure: Failure) => unknown,
  about: (code: string) => unknown = (code) => code,
) =>
  failures.length === 0
    ? html`<p class="quiet">None in the last seven days.</p>`
    : listTable(
        'Last failed requests',
        failures,
        [
          ['Time', ({ at }) => formatTime(at)],
          ['Request', ({ method, route }) => `${method} ${route === 'unmatched' ? '(unknown path)' : route}`],
          ['Error', ({ status, code }) => html`${status} ${code === null ? '' : about(code)}`],
          ['Key', keyOf],
          ['Request id', ({ requestId }) => html`<code>${requestId}</code>`, 'minor'],
        ],
        { headed: false },
      );
