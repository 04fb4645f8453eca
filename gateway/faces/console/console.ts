import { Router } from 'express';
import { auditGroups, operations } from '../../control/registry.ts';
import { serveFiles } from '../../platform/http/response.ts';
import { createConsoleAccess, type ConsoleAccessDependencies } from '../api/access/console-access.ts';
import { operatorsApi, type OperatorsApiDependencies } from '../api/api.ts';
import { createConsoleRedis } from '../api/console-redis.ts';
import { createBrowserFiles } from '../browser-files.ts';
import { html } from '../html.ts';
import { pageHeaders, renderDocument } from '../page-document.ts';
import { dialogsOf } from './dialogs.ts';

interface ConsoleDependencies
  extends
    Omit<ConsoleAccessDependencies, 'read'>,
    Omit<OperatorsApiDependencies, 'redis' | 'access' | 'logUnexpected'> {
  redisUrl: string;
  /** Unix milliseconds. */
  now: () => number;
  /** What the pages say of the API. */
  api: PageSettings;
}

/** The console of the admin port: pages for the browser, and the API that they call. */
export function createConsole(dependencies: ConsoleDependencies) {
  const { redisUrl: url, redisIsPrivate: isPrivate, api: pageSettings, log } = dependencies;
  const redis = createConsoleRedis({ ...dependencies, url, isPrivate });
  const access = createConsoleAccess({ ...dependencies, read: redis.read });
  /** Logs an error that is a bug, whose detail is never sent. */
  const logUnexpected = (error: unknown) => log.error({ err: error }, 'unexpected error on the admin port');
  return {
    api: operatorsApi({ ...dependencies, redis, access, logUnexpected }),
    pages: consolePages(pageSettings),
    logUnexpected,
    close: redis.close,
  };
}

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
