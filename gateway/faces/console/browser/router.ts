import { createSignal } from '../../browser/signal.ts';

type Location = { path: string; query: URLSearchParams };

const { notify, subscribe } = createSignal();

/** State of the console is in the URL, so that back, reload and a shared link work. */
export const router = {
  get location(): Location {
    return { path: location.pathname.replace(/\/$/, ''), query: new URLSearchParams(location.search) };
  },

  /**
   * Shows another page of the console.
   * @param path with query, and the part of the page
   * @param options replace: no new entry in the history, as for a filter that is typed
   */
  navigate(path: string, { replace = false }: { replace?: boolean } = {}) {
    if (path === location.pathname + location.search + location.hash) return;
    if (replace) history.replaceState(null, '', path);
    else history.pushState(null, '', path);
    notify();
  },

  /** Changes parameters of the query; an empty text removes one. */
  setQuery(changes: Record<string, string | undefined>, options: { replace?: boolean } = { replace: true }) {
    const { path, query } = router.location;
    for (const [name, value] of Object.entries(changes)) {
      if (value === undefined || value === '') query.delete(name);
      else query.set(name, value);
    }
    const text = query.toString();
    router.navigate(text === '' ? path : `${path}?${text}`, options);
  },

  /** Calls a listener after each change. */
  subscribe,
};

addEventListener('popstate', notify);

/** A plain click on a link of the console does not load the page again. Any other click is the browser's. */
document.addEventListener('click', (event) => {
  const { defaultPrevented, button, metaKey, ctrlKey, shiftKey, altKey } = event;
  if (defaultPrevented || button !== 0 || metaKey || ctrlKey || shiftKey || altKey) return;
  const link = event.composedPath().find((node) => node instanceof HTMLAnchorElement);
  if (!(link instanceof HTMLAnchorElement) || link.target !== '' || link.hasAttribute('download')) return;
  const { origin, pathname, search, hash } = new URL(link.href);
  if (
    origin !== location.origin ||
    !/^\/console(?:\/|$)/.test(pathname) ||
    pathname.startsWith('/console/assets/')
  )
    return;
  // A link within the page, such as the one that skips the navigation.
  if (hash !== '' && pathname === location.pathname && search === location.search) return;
  event.preventDefault();
  router.navigate(pathname + search + hash);
});
