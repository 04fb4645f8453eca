import './key-history.ts';
import { html } from 'lit';
import { PolledElement } from '../../../../browser/elements/polled-element.ts';
import { url } from '../../../../browser/url.ts';
import { api } from '../api.ts';
import { apiPath, keyTitle } from '../key.ts';
import type { CustomerDetail, KeyDetail } from '../responses.ts';

/** The page of one key or customer. */
export abstract class DetailPage<Detail extends KeyDetail | CustomerDetail> extends PolledElement<Detail> {
  static override properties = { item: {} };

  /** Id of the key or customer. */
  item = '';

  /** Title of the page while nothing was read, and of the list that it belongs to. */
  abstract readonly titles: readonly [one: string, all: string];

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

  resetDay() {
    const title = this.content === undefined ? '' : ` of ${keyTitle(this.content)}`;
    return this.make(() => api.delete(`${this.path}/day`), `The day${title} counts from 0 again`);
  }

  /** @param day use of the day, if it is known */
  renderResetDay(day: { used: number } | undefined) {
    return html`<button
      type="button"
      ?disabled=${(day?.used ?? 0) === 0}
      title="Its day limit counts from 0 again; the record of use keeps what was served"
      @click=${this.resetDay}
    >
      Set the day back
    </button>`;
  }

  override render() {
    const [one, all] = this.titles;
    return html`<p><a href=${url`/console/${all.toLowerCase()}`}>${all}</a></p>
      <h1>${this.content === undefined ? one : keyTitle(this.content)}</h1>
      ${super.render()}`;
  }
}
