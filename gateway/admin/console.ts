import type { Router } from 'express';
import type { Logger } from 'pino';
import { keepConsoleAnnounced } from './access/announce-console.ts';
import { createConsoleAccess } from './access/console-access.ts';
import { sessionOf } from './access/console-session.ts';
import { operatorsApi } from './api/api.ts';
import { createConsoleRedis } from './console-redis.ts';
import { consolePages } from './console/console-pages.ts';

interface ConsoleDependencies {
  redisUrl: string;
  /** Whether the gateway runs this Redis itself. */
  redisIsPrivate: boolean;
  /** The setting ADMIN_URL. */
  adminUrl: string | undefined;
  /** The setting TRUST_PROXY. */
  trustProxy: readonly string[];
  log: Logger;
  /** Unix milliseconds. */
  now: () => number;
}

/** The console of the admin port: pages for the browser, and the API that they call. */
export interface Console {
  api: Router;
  pages: Router;
  /** Tells `ops console` where the console is. @param origin as a browser opens it */
  announce(origin: string): void;
  close(): Promise<void>;
}

export function createConsole(dependencies: ConsoleDependencies): Console {
  const { redisUrl: url, redisIsPrivate: isPrivate, adminUrl, trustProxy, log, now } = dependencies;
  const redis = createConsoleRedis({ url, isPrivate, log, now });
  const { read } = redis;
  const access = createConsoleAccess({ read, adminUrl, trustProxy, now });
  let announcement: ReturnType<typeof keepConsoleAnnounced> | undefined;
  return {
    api: operatorsApi({
      read,
      change: (req, use) => redis.change(sessionOf(req).name, use),
      access,
      logUnexpected: (error) => log.error({ err: error }, 'unexpected error in the operators’ API'),
    }),
    pages: consolePages(),
    announce(origin) {
      announcement = keepConsoleAnnounced({ read }, origin);
    },
    async close() {
      await announcement?.close();
      access.close();
      redis.close();
    },
  };
}
