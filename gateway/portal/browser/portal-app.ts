import './key-section.ts';
import './try-request.ts';
import './threshold-form.ts';
import './webhook-section.ts';
import '../../browser/elements/notice.ts';
import { html, nothing } from 'lit';
import { ApiFailure } from '../../browser/api-failure.ts';
import { ActingElement } from '../../browser/elements/acting-element.ts';
import { failureText, inlineFailure, loadFailure } from '../../browser/elements/page-state.ts';
import { takeLinkCode } from '../../browser/link-code.ts';
import { Refresher } from '../../browser/refresher.ts';
import { api, session } from './api.ts';
import { failureList } from './failure-list.ts';
import { supportUrl, title } from './page-settings.ts';
import type { Customer, Failures, Key, KeyPage, Usage } from './responses.ts';
import { usageSection } from './usage-section.ts';

const refreshMs = 10_000;

/** The whole page. Reads all that it shows again and again while it is visible. */
class PortalApp extends ActingElement {
  isIn = false;
  /** Why nobody is signed in. */
  message = '';
  content: Awaited<ReturnType<typeof readContent>> | undefined;
  hasOpened = false;
  readonly refresher = new Refresher(
    this,
    async () => {
      if (this.isIn) this.content = await readContent();
    },
    () => refreshMs,
  );

  override connectedCallback() {
    super.connectedCallback();
    session.whenOver(() => this.leave(ended));
    addEventListener('hashchange', () => void this.open());
    void this.open();
  }

  /** Enters with the link that the page was opened with, or goes on. */
  async open() {
    const code = takeLinkCode();
    if (code === undefined && this.hasOpened) return;
    try {
      await session.begin(code);
      this.isIn = true;
      this.reload();
    } catch (error) {
      const isRefused = error instanceof ApiFailure && error.code === 'no_session';
      this.leave(isRefused ? welcome : failureText(error));
    } finally {
      this.hasOpened = true;
    }
  }

  leave(message: string) {
    this.isIn = false;
    this.message = message;
    this.content = undefined;
  }

  signOut() {
    void this.act(async () => {
      await session.end();
      this.leave('You have left the portal.');
    });
  }

  reload() {
    void this.refresher.now();
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
    const { content, refresher } = this;
    if (content === undefined) return refresher.placeholder();
    const { customer, usage, keys, failures } = content;
    const isActive = customer.state === 'active';
    return html`<h1>${customer.name}</h1>
      ${inlineFailure(this.failure)}
      ${refresher.failure === undefined ? nothing : loadFailure(refresher.failure, () => this.reload())}
      ${
        isActive
          ? nothing
          : html`<p class="panel failure" role="alert">
              Your account is suspended: requests with your keys are refused, and nothing can be changed here.
              ${supportUrl === '' ? nothing : html`<a href=${supportUrl}>Support</a>`}
            </p>`
      }
      ${usageSection(customer, usage, keys)}
      <key-section .keys=${keys} .isActive=${isActive} @changed=${this.reload}></key-section>
      ${failureList(failures, keys)}
      <webhook-section .canChange=${isActive}></webhook-section>
      <threshold-form .customer=${customer} @changed=${this.reload}></threshold-form>
      <try-request></try-request>
      <footer><a href="/docs">Documentation of the API</a></footer>`;
  }
}

const welcome =
  'This page shows your API keys and what you use. Open it from where you bought the API: it has a link that lets you in.';
const ended = 'Your session has ended. Open the portal again from where you came.';

async function readContent() {
  const [customer, usage, { items: failures }, keys] = await Promise.all([
    api.get<Customer>('/customer'),
    api.get<Usage>('/usage?days=30'),
    api.get<Failures>('/failures'),
    readKeys(),
  ]);
  return { customer, usage, failures, keys };
}

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
