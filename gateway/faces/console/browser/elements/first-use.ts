import '../../../browser/elements/copy-field.ts';
import { html, nothing } from 'lit';
import type { PolledElement } from '../../../browser/elements/polled-element.ts';
import { plural } from '../../../browser/format.ts';
import { sampleUrl } from '../../../browser/page-facts.ts';
import { session } from '../session.ts';
import { askToIssue } from './new-key-dialogs.ts';

/**
 * What to do with a gateway that nobody has used yet, in place of a chart without anything in it.
 * @param keys number of keys
 */
export const firstUse = (page: PolledElement<unknown>, keys: number) =>
  html`<div class="panel">
    <h3>No requests yet</h3>
    <ol>
      <li>
        <p>
          A request needs an API key. There ${keys === 1 ? 'is' : 'are'}
          <a href="/console/keys">${plural(keys, 'key')}</a>.
        </p>
        ${
          session.isOperator
            ? html`<button
                type="button"
                class="primary"
                @click=${() => askToIssue(page, () => page.reload())}
              >
                Issue a key
              </button>`
            : nothing
        }
      </li>
      <li>
        <p>Send a request with it, in place of <code>YOUR_KEY</code>:</p>
        <copy-field
          label="Command that sends a request"
          .text=${`curl -H 'Authorization: Bearer YOUR_KEY' ${sampleUrl}`}
        ></copy-field>
      </li>
      <li><p>The figures above count it within seconds.</p></li>
    </ol>
  </div>`;
