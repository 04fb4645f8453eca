import './key-section.ts';
import { html, nothing } from 'lit';
import { dayMs } from '../../../limits/utc-day.ts';
import { ApiFailure } from '../../browser/api-failure.ts';
import { failureTable } from '../../browser/elements/failure-table.ts';
import { notify } from '../../browser/elements/notice.ts';
import { PolledElement } from '../../browser/elements/polled-element.ts';
import { usageDays } from '../../browser/elements/usage-days.ts';
import { windowMeters } from '../../browser/elements/window-meter.ts';
import { takeLinkCode } from '../../browser/link-code.ts';
import { productName, supportUrl } from '../../browser/page-facts.ts';
import { api, session } from './api.ts';
import type { Customer, Failures, Key, KeyPage, Usage } from './responses.ts';

type Content = Awaited<ReturnType<typeof readContent>>;

/** The whole page. Reads all that it shows again and again while it is visible. */
class PortalApp extends PolledElement<Content> {
  /** Code of the link that the page was opened with, until it was used. */
  code = takeLinkCode();

  /** Without a session, a visit or a link begins one. */
  override get pauseMs() {
    return session.over === '' ? 10_000 : dayMs;
  }

  override connectedCallback() {
    super.connectedCallback();
    session.subscribe(() => this.requestUpdate());
    addEventListener('hashchange', () => {
      this.code = takeLinkCode();
      if (this.code !== undefined) void this.reload();
    });
  }

  async read() {
    const isIn = this.code === undefined && session.current !== undefined && session.over === '';
    try {
      if (!isIn && !(await this.enter())) return undefined;
      const content = await readContent();
      return session.over === '' ? content : undefined;
    } catch (error) {
      // The page says already that the session has ended.
      if (this.code !== undefined || session.over === '') throw error;
      return undefined;
    }
  }

  /**
   * Enters with the link that the page was opened with, or goes on. A link that was used before, or is not wanted, does not
   * end the session that there is.
   * @returns whether there is a session
   */
  async enter(refusal = ''): Promise<boolean> {
    try {
      await session.begin(this.code);
    } catch (error) {
      if (!(error instanceof ApiFailure) || ![401, 409].includes(error.status)) throw error;
      if (this.code !== undefined) {
        this.code = undefined;
        return this.enter(error.message);
      }
      session.refuse(refusal || session.over || welcome);
      return false;
    }
    this.code = undefined;
    if (refusal !== '') notify('The link was not used: you are signed in already.');
    return true;
  }

  signOut() {
    void this.act(async () => {
      await session.end();
      this.content = undefined;
    });
  }

  override render() {
    const { content, readFailure } = this;
    const isOutside = session.over !== '' && content === undefined && readFailure === undefined;
    return html`
      <a class="skip" href="#main">Skip to the content</a>
      <header class="page-header">
        <p class="name">${productName}</p>
        ${
          session.over === '' && content
            ? html`<nav class="tabs" aria-label="Portal">
                  <ul>
                    <li><a href="#main">Overview</a></li>
                    <li><a href="#keys">Keys</a></li>
                    <li><a href="/docs">Documentation</a></li>
                  </ul>
                </nav>
                <button type="button" @click=${this.signOut}>Sign out</button>`
            : nothing
        }
      </header>
      <main id="main" tabindex="-1" class=${content ? '' : 'alone'}>
        ${isOutside ? this.renderOutside() : super.render()}
      </main>
      <notice-region></notice-region>
    `;
  }

  renderOutside() {
    return html`<h1>${productName}</h1>
      <p role="alert">${session.over}</p>
      ${supportUrl === '' ? nothing : html`<p><a href=${supportUrl}>Support</a></p>`}`;
  }

  view({ customer, usage, keys, failures }: Content) {
    const isActive = customer.state === 'active';
    return html`${session.over === '' ? nothing : html`<p class="panel failure" role="alert">${session.over}</p>`}
      <h1>${customer.name}</h1>
      ${
        isActive
          ? nothing
          : html`<p class="panel failure" role="alert">
              Your account is suspended: requests with your keys are refused, and nothing can be changed here.
              ${supportUrl === '' ? nothing : html`<a href=${supportUrl}>Support</a>`}
            </p>`
      }
      <p>
        Plan: <strong>${customer.plan}</strong>
        ${supportUrl === '' ? nothing : html`· <a href=${supportUrl}>Ask for more</a>`}
      </p>
      <h2>Use now</h2>
      ${windowMeters(customer)}
      <key-section id="keys" .keys=${keys} .isActive=${isActive} @changed=${this.reload}></key-section>
      ${usageDays(usage.days)}
      <h2>Last failed requests</h2>
      ${failureTable(
        failures,
        ({ keyId }) => keys.find(({ id }) => id === keyId)?.name ?? keyId,
        (code) => html`<a href=${`/docs#${code}`}>${code}</a>`,
      )}`;
  }
}

const welcome =
  'This page shows your API keys and what you use. Open it from where you bought the API: it has a link that lets you in.';

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
