import { html, nothing } from 'lit';
import { dayMs } from '../../../limits/windows.ts';
import { failedRequests, usageDays, windowMeters } from '../../browser/elements/customer-use.ts';
import { notify } from '../../browser/elements/notice.ts';
import { pageHeader, tab } from '../../browser/elements/page-header.ts';
import { PolledElement } from '../../browser/elements/polled-element.ts';
import { productName, supportUrl, takeLinkCode } from '../../browser/page-facts.ts';
import { ApiFailure } from '../../browser/request.ts';
import { readContent, session, type Content } from './api.ts';
import { keySection } from './key-section.ts';

/** The whole page. Reads all that it shows again and again while it is visible. */
class PortalApp extends PolledElement<Content> {
  /** Code of the link that the page was opened with, until it was used. */
  code = takeLinkCode();
  /** Why nobody is signed in; empty while somebody is. */
  over = '';

  /** Without a session, a visit or a link begins one. */
  override get pauseMs() {
    return this.over === '' ? 10_000 : dayMs;
  }

  override connectedCallback() {
    super.connectedCallback();
    addEventListener('hashchange', () => {
      this.code = takeLinkCode();
      if (this.code === undefined) this.requestUpdate();
      else void this.reload();
    });
  }

  async read() {
    try {
      if (this.code !== undefined || session.current === undefined || this.over !== '') await this.enter();
      const content = await readContent();
      this.over = '';
      return content;
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.status !== noSession) throw error;
      this.over ||= this.content === undefined ? welcome : ended;
      return undefined;
    }
  }

  /**
   * Enters with the link that the page was opened with, or goes on. A link that was used before, or is not wanted, does not
   * end the session that there is.
   */
  async enter(refusal?: ApiFailure): Promise<void> {
    try {
      await session.begin(this.code);
      if (refusal !== undefined) notify('The link was not used: you are signed in already.');
    } catch (error) {
      if (!(error instanceof ApiFailure) || ![noSession, 409].includes(error.status)) throw error;
      if (refusal !== undefined) this.over = refusal.message;
      if (this.code === undefined) throw error;
      this.code = undefined;
      return this.enter(error);
    }
    this.code = undefined;
  }

  signOut() {
    void this.act(async () => {
      await session.end();
      this.content = undefined;
      this.over = 'You have left the portal.';
    });
  }

  override render() {
    const { content, readFailure, over } = this;
    const atKeys = location.hash === '#keys';
    const isOutside = over !== '' && content === undefined && readFailure === undefined;
    return html`
      ${
        over === '' && content
          ? pageHeader(
              '/portal',
              'Portal',
              [
                tab('#main', 'Overview', !atKeys),
                tab('#keys', 'Keys', atKeys),
                tab('/docs', 'Documentation', false),
              ],
              html`<button type="button" @click=${this.signOut}>Sign out</button>`,
            )
          : nothing
      }
      <main id="main" tabindex="-1" class=${content ? '' : 'alone'}>
        ${isOutside ? this.renderOutside() : super.render()}
      </main>
      <notice-region></notice-region>
    `;
  }

  renderOutside() {
    return html`<h1>${productName}</h1>
      <p role="alert">${this.over}</p>
      <p>${support('Support')}</p>`;
  }

  view({ customer, usage, keys, failures }: Content) {
    const isActive = customer.state === 'active';
    return html`${this.over === '' ? nothing : html`<p class="panel failure" role="alert">${this.over}</p>`}
      <h1>${customer.name}</h1>
      ${
        isActive
          ? nothing
          : html`<p class="panel failure" role="alert">
              Your account is suspended: requests with your keys are refused, and nothing can be changed here.
              ${support('Support')}
            </p>`
      }
      <p>
        Plan: <strong>${customer.plan}</strong>
        ${support('Ask for more')}
      </p>
      <h2>Use now</h2>
      ${windowMeters(customer)} ${keySection(this, keys, isActive)} ${usageDays(usage.days)}
      ${failedRequests(
        failures,
        ({ keyId }) => keys.find(({ id }) => id === keyId)?.name ?? keyId,
        (code) => html`<a href=${`/docs#${code}`}>${code}</a>`,
      )}`;
  }
}

/** Link to where customers find help, if there is one. */
const support = (text: string) => (supportUrl === '' ? nothing : html`<a href=${supportUrl}>${text}</a>`);

const noSession = 401;
const ended = 'Your session has ended. Open the portal again from where you came.';
const welcome =
  'This page shows your API keys and what you use. Open it from where you bought the API: it has a link that lets you in.';

customElements.define('portal-app', PortalApp);
