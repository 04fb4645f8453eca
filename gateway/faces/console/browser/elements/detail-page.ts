import { html, nothing } from 'lit';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { stateTag } from '../../../browser/elements/state-tag.ts';
import { api, url } from '../api.ts';
import { apiPath, describeNext, keyTitle, planLink } from '../key.ts';
import type { AuditEntry, CustomerDetail, KeyDetail, Page } from '../responses.ts';
import { session } from '../session.ts';
import { entryTable } from './entry-table.ts';
import { viewerNote } from './page-head.ts';

/** The page of one key or customer: its state, what can be done, what the next request gets, and its history. */
export abstract class DetailPage<Detail extends KeyDetail | CustomerDetail> extends PolledElement<Detail> {
  /** What an operator can do. */
  abstract actions(detail: Detail): unknown;
  abstract body(detail: Detail): unknown;

  async readDetail<Read extends KeyDetail | CustomerDetail>() {
    const detail = await api.get<Read>(apiPath(this.item));
    document.title = document.title.replace(/^.*? – /, `${keyTitle(detail)} – `);
    return detail;
  }

  override render() {
    const { content } = this;
    return html`<div class="head row spread">
        <div class="head row">
          <h1>${content === undefined ? this.item : keyTitle(content)}</h1>
          ${content === undefined ? nothing : head(content)}
        </div>
        ${content !== undefined && session.isOperator ? html`<div class="actions">${this.actions(content)}</div>` : nothing}
      </div>
      ${super.render()}`;
  }

  view(detail: Detail) {
    return html`${viewerNote()}
      <p>The next request is ${describeNext(detail.next)}.</p>
      ${this.body(detail)}
      <last-changes item=${detail.id}></last-changes>`;
  }
}

function head({ state, next, plan }: KeyDetail | CustomerDetail) {
  const isLimited = !next.served && (state === 'valid' || state === 'active');
  return html`<span>${stateTag(isLimited ? 'limited' : state)} ${planLink(plan)}</span>`;
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
      ${entryTable('Changes', items, { isOpen: true, none: 'None that the audit log still has.' })}
      <p>
        <a href=${url`/console/audit?target=${this.item}`}>All entries in the audit log</a>
      </p>`;
  }
}

customElements.define('last-changes', LastChanges);
