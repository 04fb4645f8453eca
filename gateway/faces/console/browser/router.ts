/** State of the console is in the URL, so that back, reload and a shared link work. `currententrychange` tells of a change. */
export const router = {
  get location() {
    return { path: location.pathname.replace(/\/$/, ''), query: new URLSearchParams(location.search) };
  },

  /** Shows another page of the console. @param path with query, and the part of the page */
  navigate(path: string) {
    if (path !== location.pathname + location.search + location.hash) navigation.navigate(path);
  },

  /** Changes parameters of the query; an empty text removes one. */
  setQuery(changes: Record<string, string>) {
    const { path, query } = router.location;
    for (const [name, value] of Object.entries(changes)) {
      if (value === '') query.delete(name);
      else query.set(name, value);
    }
    router.navigate(query.size === 0 ? path : `${path}?${query}`);
  },
};

/** A link of the console, and back and forward, do not load the page again. */
navigation.addEventListener('navigate', (event) => {
  const { canIntercept, destination, downloadRequest, hashChange, navigationType } = event;
  const isInside = /^\/console(?:\/(?!assets\/)|$)/.test(new URL(destination.url).pathname);
  const isLoaded = hashChange || navigationType === 'reload' || downloadRequest !== null;
  if (canIntercept && isInside && !isLoaded) event.intercept({ focusReset: 'manual', scroll: 'manual' });
});
