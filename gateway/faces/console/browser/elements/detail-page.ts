import './key-history.ts';
import { html, nothing } from 'lit';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { api } from '../api.ts';
import { apiPath, keyTitle } from '../key.ts';
import type { CustomerDetail, KeyDetail } from '../responses.ts';

/** The page of one key or customer. */
export abstract class DetailPage<Detail extends KeyDetail | CustomerDetail> extends PolledElement<Detail> {
  static override properties = { item: {} };

  /** Id of the key or customer. */
  item = '';

  /** Title of the page while nothing was read. */
  abstract readonly noun: string;

  get path() {
    return apiPath(this.item);
  }

  override get pauseMs() {
    return 2000;
  }

  async read() {
    const detail = await api.get<Detail>(this.path);
    document.title = document.title.replace(/^.*? – /, `${keyTitle(detail)} – `);
    return detail;
  }

  /** What stands beside the name: its state, and what can be done. */
  abstract head(detail: Detail): unknown;

  override render() {
    const { content } = this;
    return html`<div class="page-head">
        <h1>${content === undefined ? this.noun : keyTitle(content)}</h1>
        ${content === undefined ? nothing : this.head(content)}
      </div>
      ${super.render()}`;
  }
}
