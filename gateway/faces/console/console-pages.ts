import { Router } from 'express';
import { auditGroups, operations } from '../../control/registry.ts';
import { serveFiles } from '../../platform/http/response.ts';
import { createBrowserFiles } from '../browser-files.ts';
import { html } from '../html.ts';
import { pageHeaders, renderDocument } from '../page-document.ts';
import { dialogsOf } from './dialogs.ts';

/** What the pages of a gateway say of its API. */
export interface PageSettings {
  /** Such as Animal store gateway. */
  productName: string;
  keyPrefix: string;
}

/** Serves the console: one HTML page for all its paths, and the files that it loads. */
export function consolePages({ productName, keyPrefix }: PageSettings): Router {
  const files = createBrowserFiles('/console/assets', 'faces/console/browser');
  let shell: string | undefined;

  const router = Router();
  router.use('/console/assets', serveFiles(files.find), (_req, res) => {
    res.sendStatus(404);
  });
  router.get('/', (_req, res) => {
    res.redirect('/console');
  });
  router.get('/console{/*path}', (_req, res) => {
    // Not at the start, which it would delay.
    shell ??= renderDocument(files, {
      title: `Console – ${productName}`,
      facts: {
        'application-name': productName,
        'key-prefix': keyPrefix,
        'audit-groups': auditGroups.join(' '),
        dialogs: JSON.stringify(dialogsOf(operations)),
      },
      body: html`<console-app></console-app>
        <noscript>The console needs JavaScript. The command does the same: npm run ops -- --help</noscript>`,
    });
    res.set(pageHeaders).type('html').send(shell);
  });
  return router;
}
