import './search-dialog.ts';
import { html, nothing } from 'lit';
import { LightElement } from '../../../browser/elements/light-element.ts';
import { menu } from '../../../browser/elements/menu.ts';
import { notify } from '../../../browser/elements/notice.ts';
import { failureText, loadFailure, loading } from '../../../browser/elements/page-state.ts';
import { formatTime } from '../../../browser/format.ts';
import { hasLinkCode, takeLinkCode } from '../../../browser/link-code.ts';
import { productName } from '../../../browser/page-facts.ts';
import { router } from '../router.ts';
import { session } from '../session.ts';
import { askToSignInAgain } from './sign-in.ts';

/** A page: its path below `/console`, its title, and its element and file after `page-`, if the path does not say it. */
type PageEntry = readonly [path: string, title: string, name?: string];

/** Pages by the tab of the navigation that they are under. What stands for `:id` becomes the attribute `item` of the element. */
const tabs: readonly (readonly [tab: string, shown: readonly PageEntry[], hidden?: readonly PageEntry[]])[] =
  [
    ['Overview', [['', 'Overview', 'overview']]],
    [
      'Customers',
      [
        ['/customers', 'Customers'],
        ['/keys', 'Keys'],
      ],
      [
        ['/customers/:id', 'Customer', 'customer'],
        ['/keys/:id', 'Key', 'key'],
      ],
    ],
    ['Plans', [['/plans', 'Plans']], [['/plans/:id', 'Plan', 'plan']]],
    ['Usage', [['/usage', 'Usage']]],
    ['Security', [['/bans', 'Security']]],
    [
      'Settings',
      [
        ['/webhooks', 'Webhooks'],
        ['/tokens', 'API tokens'],
        ['/sessions', 'Sessions'],
        ['/settings', 'System'],
        ['/audit', 'Audit log'],
      ],
    ],
  ];

const routes = tabs.flatMap(([tab, shown, hidden = []]) =>
  [...shown, ...hidden].map(([path, title, name = path.slice(1)]) => ({
    path: new RegExp(`^/console${path.replace(':id', '(?<id>[^/]+)')}$`),
    tab,
    title,
    name,
  })),
);

const routeOf = (path: string) => routes.find((route) => route.path.test(path));
const address = ([path]: PageEntry) => `/console${path}`;
const link = (href: string, text: string, isCurrent: boolean) =>
  html`<li>
    <a href=${href} aria-current=${isCurrent ? 'page' : nothing}>${text}</a>
  </li>`;

/** What the search offers beside customers and keys. */
const searchedPages = tabs.flatMap(([, shown]) =>
  shown.map((page) => ({ href: address(page), text: page[1] })),
);

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
    askToSignInAgain(this);
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
    const route = routeOf(path);
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
    const current = routeOf(path);
    return html`
      <a class="skip" href="#main">Skip to the content</a>
      <header class="page-header">
        <a class="name" href="/console">${productName}</a>
        <nav class="tabs" aria-label="Console">
          <ul>
            ${tabs.map(([tab, [first]]) =>
              first === undefined ? nothing : link(address(first), tab, tab === current?.tab),
            )}
          </ul>
        </nav>
        <search-dialog .pages=${searchedPages}></search-dialog>
        ${sessionMenu()}
      </header>
      ${segments(current?.tab, path)}
      <main id="main" tabindex="-1">${this.page}</main>
      <notice-region></notice-region>
    `;
  }
}

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
function segments(current: string | undefined, path: string) {
  const [tab, shown = []] = tabs.find(([tab]) => tab === current) ?? [];
  if (tab === undefined || shown.length < 2) return nothing;
  return html`<nav class="tabs segments" aria-label=${tab}>
    <ul>
      ${shown.map((page) =>
        link(address(page), page[1], path === address(page) || path.startsWith(`${address(page)}/`)),
      )}
    </ul>
  </nav>`;
}

const notFound = () =>
  html`<h1>Not found</h1>
    <p>There is no page at this address. <a href="/console">Go to the overview</a></p>`;

customElements.define('console-app', ConsoleApp);
