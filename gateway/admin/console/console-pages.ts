import { readdirSync } from 'node:fs';
import { Router } from 'express';
import { createBrowserModules } from './browser-modules.ts';
import { renderShell } from './shell.ts';

/** What the pages of a gateway say of its API. */
export interface PageSettings {
  /** Such as Animal store gateway. */
  productName: string;
  keyPrefix: string;
  /** Address of a request that any key may make, for samples. */
  sampleUrl: () => string;
}

/** Serves the console: one HTML page for all its paths, and the modules and styles that it loads. */
export function consolePages({ productName, keyPrefix, sampleUrl }: PageSettings): Router {
  const modules = createBrowserModules({
    path: '/console/assets',
    folders: ['browser', 'admin/console/browser'],
  });
  // Alphabetically, so base.css comes first.
  const styles = ['browser/styles', 'admin/console/browser/styles'].flatMap((folder) =>
    readdirSync(new URL(`../../${folder}/`, import.meta.url))
      .toSorted()
      .map((name) => `${folder}/${name}`),
  );
  let shell: string | undefined;

  const router = Router();
  router.use(modules.router);
  router.get('/', (_req, res) => {
    res.redirect('/console');
  });
  router.get('/console{/*path}', (_req, res) => {
    // Not at the start: the port of the API is not known then.
    shell ??= renderShell(modules, {
      title: `Console – ${productName}`,
      facts: { 'application-name': productName, 'key-prefix': keyPrefix, 'sample-url': sampleUrl() },
      styles: ['webawesome/styles/webawesome.css', 'uplot/uPlot.min.css', ...styles],
      main: 'admin/console/browser/main.ts',
      element: 'console-app',
      withoutScript: 'The console needs JavaScript. The command does the same: npm run ops -- --help',
    });
    res.set(modules.headers).type('html').send(shell);
  });
  return router;
}
