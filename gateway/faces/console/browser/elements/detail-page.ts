import { html, nothing } from 'lit';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { capitalized } from '../../../browser/format.ts';
import { api, session, url } from '../api.ts';
import type { AuditEntry, Page } from '../responses.ts';
import { entryTable } from './entry-table.ts';
import { viewerNote } from './page-head.ts';

/** The page of one customer, key or plan: the way back, its state, what can be done, and its history. */
export abstract class DetailPage<Detail extends { name: string }> extends PolledElement<Detail> {
  abstract readonly noun: 'customer' | 'key' | 'plan';
  /** Its state, beside its name. */
  state?(detail: Detail): unknown;
  /** What an operator can do. */
  abstract actions(detail: Detail): unknown;

  override render() {
    const { content, noun } = this;
    const name = content?.name || this.item;
    const kind = capitalized(noun);
    if (this.isConnected) document.title = document.title.replace(/^.*? – /, `${kind} ${name} – `);
    return html`<p><a href=${url`/console/${noun}s`}>All ${noun}s</a></p>
      <div class="head row spread">
        <div class="head row">
          <h1><span class="quiet">${kind}</span> ${name}</h1>
          <span>${content && this.state?.(content)}</span>
        </div>
        ${content && session.isOperator ? html`<div class="actions">${this.actions(content)}</div>` : nothing}
      </div>
      ${viewerNote()} ${super.render()}
      <last-changes item=${this.item}></last-changes>`;
  }
}

/** What operators have changed last of a key, a customer or a plan. */
class LastChanges extends PolledElement<Page<AuditEntry>> {
  /** A read may go through much of the log. */
  override get pauseMs() {
    return 5000;
  }

  read() {
    return api.get<Page<AuditEntry>>(url`/api/audit?target=${this.item}&limit=10`);
  }

  view({ items }: Page<AuditEntry>) {
    return html`<h2>Changes</h2>
      ${entryTable('Changes', items, 'None that the audit log still has.')}
      <p><a href=${url`/console/audit?target=${this.item}`}>All entries in the audit log</a></p>`;
  }
}

customElements.define('last-changes', LastChanges);
