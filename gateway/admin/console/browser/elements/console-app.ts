import './session-menu.ts';
import './sign-in.ts';
import { html, nothing } from 'lit';
import { LightElement } from '../../../../browser/elements/light-element.ts';
import { notify } from '../../../../browser/elements/notice.ts';
import { failureText, loadFailure, loading } from '../../../../browser/elements/page-state.ts';
import { hasLinkCode, takeLinkCode } from '../../../../browser/link-code.ts';
import { productName } from '../product.ts';
import { router } from '../router.ts';
import { session } from '../session.ts';

/**
 * Pages by their paths below `/console`, with their titles. A path is the name of the page's element after `page-`, and of
 * its file, or else both follow it. What stands for `:id` becomes the attribute `item` of the element.
 */
const pages: readonly (readonly [path: string, title: string, name?: string])[] = [
  ['', 'Now', 'now'],
  ['/customers', 'Customers'],
  ['/customers/:id', 'Customer', 'customer'],
  ['/keys', 'Keys'],
  ['/keys/:id', 'Key', 'key'],
  ['/usage', 'Usage'],
  ['/plans', 'Plans'],
  ['/plans/:id', 'Plan', 'plan'],
  ['/bans', 'Bans'],
  ['/webhooks', 'Webhooks'],
  ['/audit', 'Audit'],
  ['/settings', 'Settings'],
  ['/sessions', 'Sessions'],
];

/** The navigation has each list, but for that of the sessions, which the menu has. */
const navigation = pages
  .filter(([path]) => !path.endsWith('/:id') && path !== '/sessions')
  .map(([path, title]) => [`/console${path}`, title] as const);

const routes = pages.map(([path, title, name = path.slice(1)]) => ({
  path: new RegExp(`^/console${path.replace(':id', '(?<id>[^/]+)')}$`),
  title,
  name,
}));

/** The frame of all pages: navigation, session, and the page of the current path. */
class ConsoleApp extends LightElement {
  state: 'loading' | 'signed out' | 'signed in' | { error: unknown } = 'loading';
  page: unknown = loading();
  /** Code of the link that the console was opened with. */
  code: string | undefined;
  /** Path of the page that is shown. */
  #shownPath = '';

  override connectedCallback() {
    super.connectedCallback();
    router.subscribe(() => this.showPage());
    session.subscribe(() => {
      if (session.current !== undefined && this.state !== 'signed in') {
        this.state = 'signed in';
        this.showPage();
      }
      this.requestUpdate();
    });
    // A link that is pasted into the address bar of this page does not load it again.
    addEventListener('hashchange', () => {
      if (hasLinkCode()) void this.openLink();
    });
    void this.begin();
  }

  async openLink() {
    if (this.state !== 'signed in') return this.begin();
    const code = takeLinkCode();
    if (code === undefined) return;
    await session.signIn(code).then(
      () => notify('You are signed in with the new link.'),
      (error) => notify(failureText(error)),
    );
  }

  async begin() {
    this.state = 'loading';
    await this.updateComplete;
    try {
      // A link of `ops console` holds a new code, which counts even if there is a session.
      this.code = takeLinkCode();
      if (this.code === undefined && (await session.load())) return;
      this.state = 'signed out';
    } catch (error) {
      this.state = { error };
    }
  }

  /** Shows the page of the current path. A page that is shown already follows the query itself. */
  showPage() {
    const { path } = router.location;
    if (this.state !== 'signed in' || path === this.#shownPath) return;
    const isFirst = this.#shownPath === '';
    this.#shownPath = path;
    const route = routes.find((route) => route.path.test(path));
    if (route === undefined) {
      this.page = notFound();
      return this.announce('Not found', isFirst);
    }
    const element = document.createElement(`page-${route.name}`);
    const id = route.path.exec(path)?.groups?.['id'];
    if (id !== undefined) element.setAttribute('item', decodeURIComponent(id));
    this.page = element;
    this.announce(route.title, isFirst);
  }

  /**
   * Names the page in the title, and moves the focus to it, as a browser does for a page that it loads.
   * @param isFirst whether the browser itself has loaded it
   */
  announce(title: string, isFirst: boolean) {
    document.title = `${title} – ${productName}`;
    if (isFirst) return;
    void this.updateComplete.then(() => {
      scrollTo(0, 0);
      this.querySelector('main')?.focus({ preventScroll: true });
    });
  }

  override render() {
    if (typeof this.state === 'object') {
      return html`<main class="alone">${loadFailure(this.state.error, () => void this.begin())}</main>`;
    }
    if (this.state === 'loading') return html`<main class="alone">${loading()}</main>`;
    if (this.state === 'signed out')
      return html`<main class="alone"><sign-in .code=${this.code}></sign-in></main>`;
    const { path } = router.location;
    return html`
      <a class="skip" href="#main">Skip to the content</a>
      <header class="page-header">
        <a class="name" href="/console">${productName}</a>
        <nav aria-label="Console">
          <ul>
            ${navigation.map(
              ([href, label]) =>
                html`<li>
                  <a href=${href} data-text=${label} aria-current=${isCurrent(href, path) ? 'page' : nothing}
                    >${label}</a
                  >
                </li>`,
            )}
          </ul>
        </nav>
        <session-menu></session-menu>
      </header>
      ${session.hasGivenUp ? endedNote() : nothing}
      <main id="main" tabindex="-1">${this.page}</main>
      <notice-region></notice-region>
      ${session.isAsking ? html`<sign-in-dialog></sign-in-dialog>` : nothing}
    `;
  }
}

function isCurrent(href: string, path: string) {
  return href === '/console' ? path === href : path === href || path.startsWith(`${href}/`);
}

const endedNote = () =>
  html`<div class="session-warning" role="status">
    <span>Your session has ended.</span>
    <button type="button" @click=${() => void session.signInAgain()}>Sign in again</button>
  </div>`;

const notFound = () =>
  html`<h1>Not found</h1>
    <p>There is no page at this address. <a href="/console">Go to Now</a></p>`;

customElements.define('console-app', ConsoleApp);
