import './connection-state.ts';
import './session-menu.ts';
import './session-warning.ts';
import './sign-in-dialog.ts';
import './sign-in.ts';
import { html, nothing } from 'lit';
import { hasLinkCode, takeLinkCode } from '../link-code.ts';
import { productName } from '../product.ts';
import { router } from '../router.ts';
import { session } from '../session.ts';
import { LightElement } from './light-element.ts';
import { notify } from './notice.ts';
import { failureText, loadFailure, loading } from './page-state.ts';

/** Pages by their paths. An `id` in a path becomes the attribute `item` of the page's element. */
const routes: { path: RegExp; element: string; title: string; load: () => Promise<unknown> }[] = [
  { path: /^\/console$/, element: 'page-now', title: 'Now', load: () => import('../pages/now.ts') },
  {
    path: /^\/console\/customers$/,
    element: 'page-customers',
    title: 'Customers',
    load: () => import('../pages/customers.ts'),
  },
  {
    path: /^\/console\/customers\/(?<id>[^/]+)$/,
    element: 'page-customer',
    title: 'Customer',
    load: () => import('../pages/customer.ts'),
  },
  { path: /^\/console\/keys$/, element: 'page-keys', title: 'Keys', load: () => import('../pages/keys.ts') },
  {
    path: /^\/console\/keys\/(?<id>[^/]+)$/,
    element: 'page-key',
    title: 'Key',
    load: () => import('../pages/key.ts'),
  },
  {
    path: /^\/console\/usage$/,
    element: 'page-usage',
    title: 'Usage',
    load: () => import('../pages/usage.ts'),
  },
  {
    path: /^\/console\/plans$/,
    element: 'page-plans',
    title: 'Plans',
    load: () => import('../pages/plans.ts'),
  },
  {
    path: /^\/console\/plans\/(?<id>[^/]+)$/,
    element: 'page-plan',
    title: 'Plan',
    load: () => import('../pages/plan.ts'),
  },
  { path: /^\/console\/bans$/, element: 'page-bans', title: 'Bans', load: () => import('../pages/bans.ts') },
  {
    path: /^\/console\/addresses$/,
    element: 'page-addresses',
    title: 'Addresses',
    load: () => import('../pages/addresses.ts'),
  },
  {
    path: /^\/console\/webhooks(?:\/(?<id>[^/]+))?$/,
    element: 'page-webhooks',
    title: 'Webhooks',
    load: () => import('../pages/webhooks.ts'),
  },
  {
    path: /^\/console\/audit$/,
    element: 'page-audit',
    title: 'Audit',
    load: () => import('../pages/audit.ts'),
  },
  {
    path: /^\/console\/documents\/(?<id>[^/]+)$/,
    element: 'page-document',
    title: 'Document',
    load: () => import('../pages/document.ts'),
  },
  {
    path: /^\/console\/settings$/,
    element: 'page-settings',
    title: 'Settings',
    load: () => import('../pages/settings.ts'),
  },
  {
    path: /^\/console\/sessions$/,
    element: 'page-sessions',
    title: 'Sessions',
    load: () => import('../pages/sessions.ts'),
  },
];

const navigation = [
  ['/console', 'Now'],
  ['/console/customers', 'Customers'],
  ['/console/keys', 'Keys'],
  ['/console/usage', 'Usage'],
  ['/console/plans', 'Plans'],
  ['/console/bans', 'Bans'],
  ['/console/addresses', 'Addresses'],
  ['/console/webhooks', 'Webhooks'],
  ['/console/audit', 'Audit'],
  ['/console/settings', 'Settings'],
];

/** The frame of all pages: navigation, session, and the page of the current path. */
class ConsoleApp extends LightElement {
  static override properties = { state: { state: true }, page: { state: true } };

  state: 'loading' | 'signed out' | 'signed in' | { error: unknown } = 'loading';
  page: unknown = loading();
  /** Code of the link that the console was opened with. */
  code: string | undefined;
  /** Path of the page that is shown. */
  shownPath = '';

  override connectedCallback() {
    super.connectedCallback();
    router.subscribe(() => void this.showPage());
    session.subscribe(() => {
      if (session.current !== undefined && this.state !== 'signed in') void this.signedIn();
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

  async signedIn() {
    this.state = 'signed in';
    await this.showPage();
  }

  /** Shows the page of the current path. A page that is shown already follows the query itself. */
  async showPage() {
    const { path } = router.location;
    if (this.state !== 'signed in' || path === this.shownPath) return;
    const isFirst = this.shownPath === '';
    this.shownPath = path;
    const route = routes.find((route) => route.path.test(path));
    if (route === undefined) {
      this.page = notFound();
      return this.announce('Not found', isFirst);
    }
    try {
      await route.load();
    } catch (error) {
      this.page = loadFailure(error, () => location.reload());
      return;
    }
    // Another page may have been asked for meanwhile.
    if (router.location.path !== path) return;
    const element = document.createElement(route.element);
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
      <header>
        <a class="name" href="/console">${productName}</a>
        <nav aria-label="Console">
          <ul>
            ${navigation.map(
              ([href = '', label]) =>
                html`<li>
                  <a href=${href} aria-current=${isCurrent(href, path) ? 'page' : nothing}>${label}</a>
                </li>`,
            )}
          </ul>
        </nav>
        <connection-state></connection-state>
        <session-menu></session-menu>
      </header>
      <session-warning></session-warning>
      <main id="main" tabindex="-1">${this.page}</main>
      <notice-region></notice-region>
      ${session.isAsking ? html`<sign-in-dialog></sign-in-dialog>` : nothing}
    `;
  }
}

function isCurrent(href: string, path: string) {
  return href === '/console' ? path === href : path === href || path.startsWith(`${href}/`);
}

const notFound = () =>
  html`<h1>Not found</h1>
    <p>There is no page at this address. <a href="/console">Go to Now</a></p>`;

customElements.define('console-app', ConsoleApp);
