/** State of the console is in the URL, so that back, reload and a shared link work. */

/** @typedef {{ path: string, query: URLSearchParams }} Location */

/** @type {Set<(location: Location) => void>} */
const listeners = new Set();

export const router = {
  /** @returns {Location} */
  get location() {
    return { path: location.pathname.replace(/\/$/, ''), query: new URLSearchParams(location.search) };
  },

  /**
   * Shows another page of the console.
   * @param {string} path with query
   * @param {{ replace?: boolean }} [options] replace: no new entry in the history, as for a filter that is typed
   */
  navigate(path, { replace = false } = {}) {
    if (path === location.pathname + location.search) return;
    if (replace) history.replaceState(null, '', path);
    else history.pushState(null, '', path);
    notify();
  },

  /**
   * Changes parameters of the query; an empty text removes one.
   * @param {Record<string, string | undefined>} changes
   * @param {{ replace?: boolean }} [options]
   */
  setQuery(changes, options = { replace: true }) {
    const { path, query } = router.location;
    for (const [name, value] of Object.entries(changes)) {
      if (value === undefined || value === '') query.delete(name);
      else query.set(name, value);
    }
    const text = query.toString();
    router.navigate(text === '' ? path : `${path}?${text}`, options);
  },

  /**
   * @param {(location: Location) => void} listener
   * @returns {() => void} ends it
   */
  subscribe(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};

function notify() {
  for (const listener of listeners) listener(router.location);
}

addEventListener('popstate', notify);

/** A plain click on a link of the console does not load the page again. Any other click is the browser's. */
document.addEventListener('click', (event) => {
  if (
    event.defaultPrevented ||
    event.button !== 0 ||
    event.metaKey ||
    event.ctrlKey ||
    event.shiftKey ||
    event.altKey
  )
    return;
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
  router.navigate(pathname + search);
});
