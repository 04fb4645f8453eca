import { html } from 'lit';
import { LightElement } from '../../admin/console/browser/elements/light-element.ts';
import { table } from '../../admin/console/browser/elements/table.ts';
import { formatTime } from '../../admin/console/browser/format.ts';
import type { Failures, Key } from './responses.ts';

/** The last failed requests, and what to do about each. */
class FailureList extends LightElement {
  static override properties = { failures: { attribute: false }, keys: { attribute: false } };

  failures: Failures['items'] = [];
  keys: Key[] = [];

  override render() {
    return html`<h2>Last failed requests</h2>
      ${this.failures.length === 0 ? html`<p class="quiet">None in the last seven days.</p>` : this.renderTable()}`;
  }

  renderTable() {
    const names = new Map(this.keys.map(({ id, name }) => [id, name]));
    return table({
      label: 'Last failed requests',
      region: 'wide',
      headings: ['Time', 'Request', 'Error', 'Key', 'Request id', 'What to do'],
      rows: this.failures.map(
        ({ at, method, route, status, code, keyId, requestId }) =>
          html`<tr>
            <td>${formatTime(at)}</td>
            <td>${method} ${route === 'unmatched' ? '(unknown path)' : route}</td>
            <td>${status} ${code}</td>
            <td>${names.get(keyId) ?? keyId}</td>
            <td><code>${requestId}</code></td>
            <td>
              ${
                code === null
                  ? 'The body of the response says what is wrong.'
                  : html`<a href=${`/docs#${code}`}>About ${code}</a>`
              }
            </td>
          </tr>`,
      ),
    });
  }
}

customElements.define('failure-list', FailureList);
