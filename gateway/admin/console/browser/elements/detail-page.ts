import { html, nothing } from 'lit';
import { tell } from '../../../../browser/elements/notice.ts';
import { failureText } from '../../../../browser/elements/page-state.ts';
import { PolledElement } from '../../../../browser/elements/polled-element.ts';
import { url } from '../../../../browser/url.ts';
import { api } from '../api.ts';
import { apiPath, keyTitle } from '../key.ts';
import { fetchPlanNames } from '../plan-names.ts';
import type { Changed, CustomerDetail, KeyDetail } from '../responses.ts';
import { KeyHistory } from './key-history.ts';

/** The page of one key or customer, which is read again and again, and changed. */
export abstract class DetailPage<Detail extends KeyDetail | CustomerDetail> extends PolledElement<Detail> {
  static override properties = { item: {} };

  /** Id of the key or customer. */
  item = '';
  plans: string[] = [];
  /** Changes made on this page. */
  #changes = 0;

  constructor() {
    super();
    void fetchPlanNames().then((plans) => (this.plans = plans));
  }

  /** Title of the page while nothing was read, and of the list that it belongs to. */
  abstract readonly titles: readonly [one: string, all: string];

  get path() {
    return apiPath(this.item);
  }

  override get pauseMs() {
    return this.refresher.failure === undefined ? 2000 : 5000;
  }

  /** Reads the subject. What a change has overtaken is dropped. */
  async read() {
    const changes = this.#changes;
    const detail = await api.get<Detail>(this.path);
    if (changes !== this.#changes) return undefined;
    document.title = document.title.replace(/^.*? – /, `${keyTitle(detail)} – `);
    return detail;
  }

  /** @param detail after a change */
  changed(detail: Detail) {
    this.#changes += 1;
    this.content = detail;
    this.failure = undefined;
    const history = this.querySelector('key-history');
    if (history instanceof KeyHistory) history.reload();
  }

  onChanged({ detail }: CustomEvent<Detail>) {
    this.changed(detail);
  }

  async apply(change: Promise<Changed<Detail>>, done: string) {
    this.changed(await tell(change, done));
  }

  /** Makes a change, and shows on the page why it failed. */
  async make(change: () => Promise<Changed<Detail>>, done: string) {
    await this.act(() => this.apply(change(), done));
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
    const { content, refresher, titles } = this;
    const [one, all] = titles;
    const list = url`/console/${all.toLowerCase()}`;
    if (content === undefined) {
      if (refresher.failure === undefined) return refresher.placeholder();
      return html`<h1>${one}</h1>
        ${refresher.placeholder()}
        <p><a href=${list}>All ${all.toLowerCase()}</a></p>`;
    }
    return html`<p><a href=${list}>${all}</a></p>
      <h1>${keyTitle(content)}</h1>
      ${
        refresher.failure === undefined
          ? nothing
          : html`<p class="failure-text" role="alert">Not up to date: ${failureText(refresher.failure)}</p>`
      }
      ${this.view(content)}`;
  }
}
