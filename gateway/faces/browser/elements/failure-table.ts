import { html } from 'lit';
import { formatTime } from '../format.ts';
import { listTable, type Column } from './table.ts';

interface Failure {
  at: string;
  method: string;
  route: string;
  status: number;
  code: string | null;
  keyId: string;
  requestId: string;
}

/** Failed requests, newest first. @param keyOf names the key of one */
export const failureTable = (
  label: string,
  failures: readonly Failure[],
  keyOf: (failure: Failure) => unknown,
  ...further: Column<Failure>[]
) =>
  failures.length === 0
    ? html`<p class="quiet">None in the last seven days.</p>`
    : listTable(
        label,
        failures,
        [
          ['Time', ({ at }) => formatTime(at)],
          ['Request', ({ method, route }) => `${method} ${route === 'unmatched' ? '(unknown path)' : route}`],
          ['Error', ({ status, code }) => `${status} ${code ?? ''}`],
          ['Key', keyOf],
          ['Request id', ({ requestId }) => html`<code>${requestId}</code>`],
          ...further,
        ],
        { headed: false },
      );
