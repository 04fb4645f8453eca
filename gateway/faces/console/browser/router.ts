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
    if (path !== location.pathname + location.search + location.hash)
      navigation.navigate(path, { history: replace ? 'replace' : 'push' });
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

/** A link of the console, and back and forward, do not load the page again. */
navigation.addEventListener('navigate', (event) => {
  const { canIntercept, destination, downloadRequest, hashChange, navigationType } = event;
  const isInside = /^\/console(?:\/(?!assets\/)|$)/.test(new URL(destination.url).pathname);
  const isLoaded = hashChange || navigationType === 'reload' || downloadRequest !== null;
  if (!canIntercept || !isInside || isLoaded) return;
  event.intercept({
    handler: async () => notify(),
    focusReset: 'manual',
    scroll: 'manual',
  });
});
