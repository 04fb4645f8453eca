import { setTimeout as sleep } from 'node:timers/promises';
import { Router, type RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { PublicAddress } from '../../platform/http/addresses.ts';
import type { AddressLimit } from '../../quota/address-limit.ts';
import { createMatch } from '../../upstream/routes.ts';
import { createConsoleRedis, type ConsoleRedis } from '../api/console-redis.ts';
import { createPortalAccess } from './portal-access.ts';
import { createPortalApi, portalApiPath, portalApiRoutes } from './portal-api.ts';
import { portalPages, type PortalLook } from './portal-pages.ts';

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
