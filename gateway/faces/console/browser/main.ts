import './elements/search-dialog.ts';
import { html, nothing } from 'lit';
import { LightElement } from '../../browser/elements/light-element.ts';
import { menu } from '../../browser/elements/menu.ts';
import { failureText, inlineFailure, loadFailure, loading, notify } from '../../browser/elements/notice.ts';
import { pageHeader, tab } from '../../browser/elements/page-header.ts';
import { formatTime } from '../../browser/format.ts';
import { productName, takeLinkCode } from '../../browser/page-facts.ts';
import { session } from './api.ts';
import { PageBans, PageSessions, PageTokens } from './pages/access.ts';
import { PageAudit } from './pages/audit.ts';
import { PageCustomer, PageKey } from './pages/customer.ts';
import { PageCustomers, PageKeys } from './pages/customers.ts';
import { PageOverview } from './pages/overview.ts';
import { PagePlan, PagePlans } from './pages/plans.ts';
import { PageSettings } from './pages/settings.ts';
import { PageUsage } from './pages/usage.ts';
import { PageWebhooks } from './pages/webhooks.ts';
import { router } from './router.ts';

/**
 * Pages: the tab of the navigation that they are under, their path below `/console`, their title, and the end of the name of
 * their element with its class. What stands for `:id`, in a page that is no choice of its tab, becomes the attribute `item` of the element.
 */
const pages = (
  [
    ['Overview', '', 'Overview', 'overview', PageOverview],
    ['Customers', '/customers', 'Customers', 'customers', PageCustomers],
    ['Customers', '/keys', 'Keys', 'keys', PageKeys],
    ['Customers', '/customers/:id', 'Customer', 'customer', PageCustomer],
    ['Customers', '/keys/:id', 'Key', 'key', PageKey],
    ['Plans', '/plans', 'Plans', 'plans', PagePlans],
    ['Plans', '/plans/:id', 'Plan', 'plan', PagePlan],
    ['Usage', '/usage', 'Usage', 'usage', PageUsage],
    ['Security', '/bans', 'Security', 'bans', PageBans],
    ['Settings', '/webhooks', 'Webhooks', 'webhooks', PageWebhooks],
    ['Settings', '/tokens', 'API tokens', 'tokens', PageTokens],
    ['Settings', '/sessions', 'Sessions', 'sessions', PageSessions],
    ['Settings', '/settings', 'System', 'settings', PageSettings],
    ['Settings', '/audit', 'Audit log', 'audit', PageAudit],
  ] as const
).map(([tab, path, text, name, element]) => {
  customElements.define(`page-${name}`, element);
  const pattern = new RegExp(`^/console${path.replace(':id', '(?<id>[^/]+)')}$`);
  return { tab, text, name, href: `/console${path}`, pattern };
});

const routeOf = (path: string) => pages.find(({ pattern }) => pattern.test(path));

/** What one can choose: pages by their tabs. The search offers them, too. */
const choices = pages.filter(({ href }) => !href.endsWith(':id'));
const tabs = Map.groupBy(choices, ({ tab }) => tab);

/** The frame of all pages: navigation, session, and the page of the current path. */
class ConsoleApp extends LightElement {
  page: unknown = loading();
  /** Why nobody can be signed in. */
  failure: unknown;
  /** Path of the page that is shown. */
  #shownPath = '';

  override connectedCallback() {
    super.connectedCallback();
    navigation.addEventListener('currententrychange', () => this.showPage());
    document.addEventListener('session', () => {
      this.showPage();
      this.requestUpdate();
    });
    // A link that is pasted into the address bar of this page does not load it again.
    addEventListener('hashchange', () => void this.enter());
    void this.enter();
  }

  /** Signs in with the link that the page was opened with, or goes on with the session that there is. */
  async enter() {
    this.failure = undefined;
    const code = takeLinkCode();
    try {
      const refusal = code === undefined ? undefined : await session.signIn(code).catch((error) => error);
      if (session.current !== undefined || (await session.load())) {
        if (code !== undefined) notify(refusal ? failureText(refusal) : 'You are signed in with the link.');
        return;
      }
      document.title = `Sign in – ${productName}`;
      this.page = signInPage(refusal);
    } catch (error) {
      this.failure = error;
    }
  }

  /** Shows the page of the current path. A page that is shown already follows the query itself. */
  showPage() {
    const { path } = router.location;
    if (session.current === undefined || path === this.#shownPath) return;
    const isFirst = this.#shownPath === '';
    this.#shownPath = path;
    const route = routeOf(path);
    if (route === undefined) {
      this.page = html`<h1>Not found</h1>
        <p>There is no page at this address. <a href="/console">Go to the overview</a></p>`;
      return this.announce('Not found', isFirst);
    }
    const element = Object.assign(document.createElement(`page-${route.name}`), { heading: route.text });
    const id = route.pattern.exec(path)?.groups?.['id'];
    if (id !== undefined) element.setAttribute('item', decodeURIComponent(id));
    this.page = element;
    this.announce(route.text, isFirst);
  }

  /**
   * Names the page in the title, shows its tab on a phone, and moves the focus to it, as a browser does for a page that it loads.
   * @param isFirst whether the browser itself has loaded it
   */
  announce(title: string, isFirst: boolean) {
    document.title = `${title} – ${productName}`;
    void this.updateComplete.then(() => {
      for (const tab of this.querySelectorAll('.tabs [aria-current]'))
        tab.scrollIntoView({ block: 'nearest', inline: 'center' });
      if (isFirst) return;
      scrollTo(0, 0);
      this.querySelector('main')?.focus({ preventScroll: true });
    });
  }

  override render() {
    if (session.current === undefined) {
      return html`<main class="alone">
        ${this.failure === undefined ? this.page : loadFailure(this.failure, () => void this.enter())}
      </main>`;
    }
    const { path } = router.location;
    const current = routeOf(path);
    return html`
      ${pageHeader(
        '/console',
        'Console',
        Array.from(tabs, ([text, [first]]) => tab(first?.href ?? '', text, text === current?.tab)),
        html`<search-dialog .pages=${choices}></search-dialog> ${sessionMenu()}`,
      )}
      ${segments(path)}
      <main id="main" tabindex="-1">${this.page}</main>
      <notice-region></notice-region>
    `;
  }
}

/** Says how to get a link. @param refusal why one was refused */
const signInPage = (refusal: unknown) =>
  html`<h1>Sign in</h1>
    ${inlineFailure(refusal)}
    <p>Open a link that works once, within five minutes. Get one where the gateway is installed:</p>
    <pre tabindex="0"><code>npm run --silent ops -- console</code></pre>
    <p class="quiet">In a container: <code>node gateway/faces/command/main.ts console</code></p>
    <p class="quiet">A session lasts twelve hours. It ends earlier if Redis loses its data.</p>`;

/** Who is signed in, until when, and the way out. */
function sessionMenu() {
  const { current } = session;
  if (current === undefined) return nothing;
  const { name, role, expiresAt, version } = current;
  return menu(
    'session-menu',
    html`${name}${role === 'viewer' ? ' (viewer)' : ''} <span aria-hidden="true">▾</span>`,
    [
      { text: 'Who is signed in', act: () => router.navigate('/console/sessions') },
      {
        text: 'Sign out',
        act: () => session.signOut().catch((error: unknown) => notify(failureText(error))),
      },
    ],
    {
      about: html`<p>
          ${role === 'operator' ? 'Operator: can change everything' : 'Viewer: can change nothing'}
        </p>
        <p>Session ends ${formatTime(expiresAt)}</p>
        <p class="quiet">Version ${version}</p>`,
    },
  );
}

/** Pages of the current tab, if it has several. */
function segments(path: string) {
  const current = routeOf(path)?.tab;
  const shown = choices.filter((page) => page.tab === current);
  if (shown.length < 2) return nothing;
  return html`<nav class="tabs segments" aria-label=${current}>
    <ul class="row">
      ${shown.map(({ href, text }) => tab(href, text, path === href || path.startsWith(`${href}/`)))}
    </ul>
  </nav>`;
}

customElements.define('console-app', ConsoleApp);
