import './key-history.ts';
import { html, nothing } from 'lit';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { stateTag } from '../../../browser/elements/state-tag.ts';
import { api } from '../api.ts';
import { apiPath, describeNext, keyTitle, planLink } from '../key.ts';
import type { CustomerDetail, KeyDetail } from '../responses.ts';
import { session } from '../session.ts';
import { viewerNote } from './viewer-note.ts';

/** The page of one key or customer: its state, what can be done, what the next request gets, and its history. */
export abstract class DetailPage<Detail extends KeyDetail | CustomerDetail> extends PolledElement<Detail> {
  static override properties = { item: {} };

  /** Id of the key or customer. */
  item = '';

  override get pauseMs() {
    return 2000;
  }

  async read() {
    const detail = await api.get<Detail>(apiPath(this.item));
    document.title = document.title.replace(/^.*? – /, `${keyTitle(detail)} – `);
    return detail;
  }

  /** What an operator can do. */
  abstract actions(detail: Detail): unknown;
  abstract body(detail: Detail): unknown;

  override render() {
    const { content } = this;
    return html`<div class="page-head">
        <h1>${content === undefined ? this.item : keyTitle(content)}</h1>
        ${content === undefined ? nothing : head(content)}
        ${content !== undefined && session.isOperator ? html`<div class="actions">${this.actions(content)}</div>` : nothing}
      </div>
      ${super.render()}`;
  }

  view(detail: Detail) {
    return html`${viewerNote()}
      <p>The next request is ${describeNext(detail.next)}.</p>
      ${this.body(detail)}
      <key-history item=${detail.id}></key-history>`;
  }
}

function head({ state, next, plan }: KeyDetail | CustomerDetail) {
  const isLimited = !next.served && (state === 'valid' || state === 'active');
  return html`<span>${stateTag(isLimited ? 'limited' : state)} ${planLink(plan)}</span>`;
}
