import './failure-list.ts';
import './key-section.ts';
import './try-request.ts';
import './threshold-form.ts';
import './usage-section.ts';
import './webhook-section.ts';
import '../../admin/console/browser/elements/notice.ts';
import { html, nothing } from 'lit';
import { ApiFailure } from '../../admin/console/browser/api-failure.ts';
import { LightElement } from '../../admin/console/browser/elements/light-element.ts';
import { failureText } from '../../admin/console/browser/elements/page-state.ts';
import { takeLinkCode } from '../../admin/console/browser/link-code.ts';
import { api, session } from './api.ts';
import { supportUrl, title } from './page-settings.ts';
import type { Customer, Failures, Key, KeyPage, Usage } from './responses.ts';

const refreshMs = 10_000;

/** The whole page. Reads all that it shows again and again while it is visible. */
class PortalApp extends LightElement {
  static override properties = {
    isIn: { state: true },
    message: { state: true },
    failure: { state: true },
    customer: { state: true },
    usage: { state: true },
    keys: { state: true },
    failures: { state: true },
    hasOpened: { state: true },
  };

  isIn = false;
  /** Why nobody is signed in. */
  message = '';
  /** Why the last reading failed. */
  failure: unknown;
  customer: Customer | undefined;
  usage: Usage | undefined;
  keys: Key[] | undefined;
  failures: Failures | undefined;
  hasOpened = false;
  timer: ReturnType<typeof setTimeout> | undefined;

  override connectedCallback() {
    super.connectedCallback();
    session.whenOver(() => this.leave(ended));
    addEventListener('hashchange', () => void this.open());
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible' && this.isIn) void this.read();
    });
    void this.open();
  }

  /** Enters with the link that the page was opened with, or goes on. */
  async open() {
    const code = takeLinkCode();
    if (code === undefined && this.hasOpened) return;
    try {
      await session.begin(code);
      this.isIn = true;
      await this.read();
    } catch (error) {
      const isRefused = error instanceof ApiFailure && error.code === 'no_session';
      this.leave(isRefused ? welcome : failureText(error));
    } finally {
      this.hasOpened = true;
    }
  }

  leave(message: string) {
    clearTimeout(this.timer);
    this.isIn = false;
    this.message = message;
    for (const name of ['customer', 'usage', 'keys', 'failures'] as const) this[name] = undefined;
  }

  async signOut() {
    try {
      await session.end();
      this.leave('You have left the portal.');
    } catch (error) {
      this.failure = error;
    }
  }

  async read() {
    clearTimeout(this.timer);
    try {
      [this.customer, this.usage, this.failures, this.keys] = await Promise.all([
        api.get<Customer>('/customer'),
        api.get<Usage>('/usage?days=30'),
        api.get<Failures>('/failures'),
        readKeys(),
      ]);
      this.failure = undefined;
    } catch (error) {
      this.failure = error;
    }
    if (this.isIn && document.visibilityState === 'visible')
      this.timer = setTimeout(() => void this.read(), refreshMs);
  }

  override render() {
    return html`
      <a class="skip" href="#main">Skip to the content</a>
      <header>
        <span class="name">${title}</span>
        ${this.isIn ? html`<button type="button" @click=${this.signOut}>Leave</button>` : nothing}
      </header>
      <main id="main" tabindex="-1" class=${this.isIn ? '' : 'alone'}>
        ${this.isIn ? this.renderPage() : this.renderOutside()}
      </main>
      <notice-region></notice-region>
    `;
  }

  renderOutside() {
    if (!this.hasOpened) return html`<p role="status">Opening…</p>`;
    return html`<h1>${title}</h1>
      <p role="alert">${this.message}</p>
      ${supportUrl === '' ? nothing : html`<p><a href=${supportUrl}>Support</a></p>`}`;
  }

  renderPage() {
    const { customer, usage, keys, failures, failure } = this;
    const problem =
      failure === undefined
        ? nothing
        : html`<div class="panel failure" role="alert">
            <p>${failureText(failure)}</p>
            <button type="button" @click=${this.read}>Try again</button>
          </div>`;
    if (customer === undefined || usage === undefined || keys === undefined || failures === undefined)
      return failure === undefined ? html`<p role="status">Loading…</p>` : problem;
    const isActive = customer.state === 'active';
    return html`<h1>${customer.name}</h1>
      ${problem}
      ${
        isActive
          ? nothing
          : html`<p class="panel failure" role="alert">
              Your account is suspended: requests with your keys are refused, and nothing can be changed here.
              ${supportUrl === '' ? nothing : html`<a href=${supportUrl}>Support</a>`}
            </p>`
      }
      <usage-section .customer=${customer} .usage=${usage} .keys=${keys}></usage-section>
      <key-section .keys=${keys} .isActive=${isActive} @changed=${this.read}></key-section>
      <failure-list .failures=${failures.items} .keys=${keys}></failure-list>
      <webhook-section .canChange=${isActive}></webhook-section>
      <threshold-form .customer=${customer} @changed=${this.read}></threshold-form>
      <try-request></try-request>
      <footer><a href="/docs">Documentation of the API</a></footer>`;
  }
}

const welcome =
  'This page shows your API keys and what you use. Open it from where you bought the API: it has a link that lets you in.';
const ended = 'Your session has ended. Open the portal again from where you came.';

/** All keys, newest first. */
async function readKeys(): Promise<Key[]> {
  const keys: Key[] = [];
  for (let after: string | null = ''; after !== null;) {
    const page: KeyPage = await api.get(`/keys${after === '' ? '' : `?after=${encodeURIComponent(after)}`}`);
    keys.push(...page.items);
    after = page.next;
  }
  return keys.toSorted((one, other) => other.createdAt.localeCompare(one.createdAt));
}

customElements.define('portal-app', PortalApp);
