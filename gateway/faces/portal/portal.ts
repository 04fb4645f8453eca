import { setTimeout as sleep } from 'node:timers/promises';
import { Router, type RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { PublicAddress } from '../../platform/http/public-address.ts';
import type { AddressLimit } from '../../quota/address-limit.ts';
import type { ApiRoute } from '../../upstream/routes.ts';
import { createConsoleRedis, type ConsoleRedis } from '../api/console-redis.ts';
import { createPortalAccess } from './portal-access.ts';
import { createPortalApi } from './portal-api.ts';
import { describePortal, portalApiPath } from './portal-document.ts';
import { portalPages, type PortalLook } from './portal-pages.ts';
import { portalRoutes } from './portal-routes.ts';
import { portalSessionRoutes } from './portal-session-routes.ts';

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

function waitUntilReady({ redis }: ConsoleRedis): Promise<unknown> {
  return Promise.race([
    new Promise((resolve) => redis.once('ready', resolve)),
    sleep(connectMs, undefined, { ref: false }),
  ]);
}

/** The customers' own page, where they look after their keys, and the API that it calls. It needs a session in place of a key. */
export function createPortal(dependencies: PortalDependencies) {
  const { redisUrl: url, redisIsPrivate: isPrivate, publicAddress, addressLimit } = dependencies;
  const { scopes, look, log, now } = dependencies;
  let connected: ConsoleRedis | undefined;
  let ready: Promise<unknown> | undefined;
  let document: object | undefined;
  let router: Router | undefined;

  /** Connects when somebody enters: a gateway whose portal nobody uses has no connection for it. */
  async function redis(): Promise<ConsoleRedis> {
    connected ??= createConsoleRedis({ url, isPrivate, log, now });
    ready ??= waitUntilReady(connected);
    await ready;
    return connected;
  }

  /** Not at the start: most gateways start without anybody who waits for the portal. */
  function createRouter(): Router {
    const access = createPortalAccess({ redis, publicAddress, addressLimit });
    const describe = () => (document ??= describePortal(look.title));
    return Router({ caseSensitive: true, strict: true })
      .use(createPortalApi({ redis, access, scopes, document: describe, log }))
      .use(portalPages(look));
  }

  const serve: RequestHandler = (req, res, next) => {
    router ??= createRouter();
    router(req, res, next);
  };
  return { match, serve, close: () => connected?.close() };
}

const apiRoutes = describeRoutes();
const pageRoute: ApiRoute = { pattern: '/portal', allow: ['GET', 'HEAD', 'OPTIONS'] };
const assetRoute: ApiRoute = { pattern: '/portal/assets/{version}/{file}', allow: pageRoute.allow };
const documentRoute: ApiRoute = { pattern: `${portalApiPath}/openapi.json`, allow: pageRoute.allow };

function match(path: string): ApiRoute | undefined {
  if (path === pageRoute.pattern) return pageRoute;
  if (!path.startsWith('/portal/')) return undefined;
  if (path === documentRoute.pattern) return documentRoute;
  if (path.startsWith('/portal/assets/')) return assetRoute;
  return apiRoutes.find(({ pattern }) => pattern.test(path))?.route;
}

function describeRoutes(): { pattern: RegExp; route: ApiRoute }[] {
  const byPath = Map.groupBy([...portalSessionRoutes, ...portalRoutes], ({ path }) => path);
  return Array.from(byPath, ([path, routes]) => {
    const methods = routes.map(({ method }) => method.toUpperCase());
    const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
    return {
      pattern: new RegExp(`^${portalApiPath}${path.replaceAll(/:\w+/g, '[^/]+')}$`),
      route: { pattern: portalApiPath + path.replaceAll(/:(\w+)/g, '{$1}'), allow },
    };
  });
}
