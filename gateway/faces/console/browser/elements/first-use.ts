import '../../../browser/elements/copy-field.ts';
import { html } from 'lit';
import { LightElement } from '../../../browser/elements/light-element.ts';
import { plural } from '../../../browser/format.ts';
import { sampleUrl } from '../../../browser/page-facts.ts';
import { session } from '../session.ts';
import { askToIssue } from './new-key-dialogs.ts';

/** What to do with a gateway that nobody has used yet, in place of a chart without anything in it. */
class FirstUse extends LightElement {
  /** Number of keys. */
  keys = 0;
  /** What the dialog of a new key closes with: the key is shown once, whoever sends the first request. */
  host: LightElement | undefined;
  /** Called when a key was issued. */
  done = () => {};

  override render() {
    return html`<div class="panel first-use">
      <h3>No requests yet</h3>
      <ol>
        <li>${this.keyStep()}</li>
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
  }

  keyStep() {
    const button = session.isOperator
      ? html`<button type="button" class="primary" @click=${() => askToIssue(this.host ?? this, this.done)}>
          Issue a key
        </button>`
      : html`<p>An operator can issue a key.</p>`;
    if (this.keys === 0)
      return html`<p>A request needs an API key.</p>
        ${button}`;
    return html`<p>
        There ${this.keys === 1 ? 'is' : 'are'} <a href="/console/keys">${plural(this.keys, 'key')}</a>. Take
        one that you have, or issue another.
      </p>
      ${button}`;
  }
}

customElements.define('first-use', FirstUse);
