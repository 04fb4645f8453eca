import { setTimeout as sleep } from 'node:timers/promises';
import { Router, type RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { PublicAddress } from '../../platform/http/addresses.ts';
import { serveFiles } from '../../platform/http/response.ts';
import type { AddressLimit } from '../../quota/address-limit.ts';
import { createMatch } from '../../upstream/routes.ts';
import { createConsoleRedis, type ConsoleRedis } from '../api/console-redis.ts';
import { createBrowserFiles } from '../browser-files.ts';
import { html } from '../html.ts';
import { pageHeaders, renderDocument } from '../page-document.ts';
import { createPortalAccess } from './portal-access.ts';
import { createPortalApi, portalApiPath, portalApiRoutes } from './portal-api.ts';

interface PortalDependencies {
  redisUrl: string;
  /** Whether the gateway runs this Redis itself. */
  redisIsPrivate: boolean;
  publicAddress: PublicAddress;
  addressLimit: Pick<AddressLimit, 'charge' | 'peek'>;
  /** Scopes that a key can have. */
  scopes: readonly string[];
  look: PortalLook;
  log: Logger;
  now: () => number;
}

/** Maximum time that the first request waits for the connection. */
const connectMs = 1000;

/** The customers' own page, where they look after their keys, and the API that it calls. It needs a session in place of a key. */
export function createPortal(dependencies: PortalDependencies) {
  const { redisUrl: url, redisIsPrivate: isPrivate, publicAddress, look, log, now } = dependencies;
  let connected: ConsoleRedis | undefined;
  let ready: Promise<unknown> | undefined;
  let router: Router | undefined;

  /** Connects when somebody enters: a gateway whose portal nobody uses has no connection for it. */
  async function redis(): Promise<ConsoleRedis> {
    const connection = (connected ??= createConsoleRedis({ url, isPrivate, log, now }));
    ready ??= Promise.race([
      new Promise((resolve) => connection.redis.once('ready', resolve)),
      sleep(connectMs, undefined, { ref: false }),
    ]);
    await ready;
    return connection;
  }

  /** Not at the start: most gateways start without anybody who waits for the portal. */
  function createRouter(): Router {
    const access = createPortalAccess({ ...dependencies, redis });
    const publicOrigin = publicAddress.baseUrl;
    const api = createPortalApi({ ...dependencies, redis, access, publicOrigin });
    return Router({ caseSensitive: true, strict: true }).use(portalApiPath, api).use(portalPages(look));
  }

  const serve: RequestHandler = (req, res, next) => {
    router ??= createRouter();
    router(req, res, next);
  };
  return { match, serve, close: () => connected?.close() };
}

const methodsOf = Map.groupBy(portalApiRoutes, ({ path }) => path);
const match = createMatch([
  ...['/portal', '/portal/assets/{version}/{file}'].map((pattern) => ({
    pattern,
    allow: ['GET', 'HEAD', 'OPTIONS'],
  })),
  ...Array.from(methodsOf, ([path, routes]) => {
    const methods = routes.map(({ method }) => method.toUpperCase());
    const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
    return { pattern: portalApiPath + path.replaceAll(/:(\w+)/g, '{$1}'), allow };
  }),
]);

export interface PortalLook {
  title: string;
  /** As #rrggbb. */
  color: string;
  supportUrl: string | undefined;
}

/** Serves the page of the portal, with the files that it loads. */
export function portalPages(look: PortalLook): Router {
  const { title, supportUrl = '' } = look;
  const files = createBrowserFiles('/portal/assets', 'faces/portal/browser', themeOf(look));
  const page = renderDocument(files, {
    title,
    facts: { 'application-name': title, 'support-url': supportUrl },
    body: html`<portal-app></portal-app> <noscript>This page needs JavaScript.</noscript>`,
  });
  const router = Router();
  router.use('/portal/assets', serveFiles(files.find), (_req, res) => {
    res.sendStatus(404);
  });
  router.get('/portal', (_req, res) => {
    res.set(pageHeaders).set('Cache-Control', 'no-cache').type('html').send(page);
  });
  return router;
}

/** The colour, and the text that can be read on it. */
function themeOf({ color }: PortalLook): string {
  return `:root { --portal-color: ${color}; --portal-text: ${isLight(color) ? '#000000' : '#ffffff'}; }\n`;
}

/** Whether black has more contrast than white on a colour (WCAG 2.2, relative luminance). @param color as #rrggbb */
export function isLight(color: string): boolean {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((start) => {
    const share = Number.parseInt(color.slice(start, start + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05);
}
