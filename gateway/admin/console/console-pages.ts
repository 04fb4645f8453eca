import { readdirSync } from 'node:fs';
import { Router } from 'express';
import { createBrowserModules } from './browser-modules.ts';
import { renderShell, type PageSettings } from './shell.ts';

/** Serves the console: one HTML page for all its paths, and the modules and styles that it loads. */
export function consolePages(settings: PageSettings): Router {
  const {
    base,
    importMap,
    headers,
    router: assets,
  } = createBrowserModules({
    path: '/console/assets',
    folders: ['browser', 'admin/console/browser'],
    modules: ['setting-fields.ts', 'customer-texts.ts', 'limits.ts', 'utc-day.ts', 'windows.ts'].map(
      (name) => `limits/${name}`,
    ),
  });
  // Alphabetically, so base.css comes first.
  const styles = ['browser/styles', 'admin/console/browser/styles'].flatMap((folder) =>
    readdirSync(new URL(`../../${folder}/`, import.meta.url))
      .toSorted()
      .map((name) => `${folder}/${name}`),
  );
  let shell: string | undefined;

  const router = Router();
  router.use(assets);
  router.get('/', (_req, res) => {
    res.redirect('/console');
  });
  router.get('/console{/*path}', (_req, res) => {
    // Not at the start: the port of the API is not known then.
    shell ??= renderShell({ base, importMap, styles, settings });
    res.set(headers).type('html').send(shell);
  });
  return router;
}
