import { Router } from 'express';
import type { Logger } from 'pino';
import type { WebhookRules } from '../events/webhook-address.ts';
import { changeCredentials } from '../redis/redis-client.ts';
import type { Service } from '../service.ts';
import { keepConsoleAnnounced, type Announcement } from './access/announce-console.ts';
import { callerOf } from './access/caller.ts';
import { createConsoleAccess } from './access/console-access.ts';
import { createSearchTurns } from './access/search-turns.ts';
import { apiDocs } from './api-docs.ts';
import { operatorsApi } from './api/api.ts';
import { changeReason } from './api/change-reason.ts';
import { createConsoleRedis } from './console-redis.ts';
import { consolePages } from './console/console-pages.ts';
import type { PageSettings } from './console/shell.ts';
import { createLiveFeed } from './live/live-feed.ts';
import { createLiveReader } from './live/live-reader.ts';

interface ConsoleDependencies {
  redisUrl: string;
  /** Whether the gateway runs this Redis itself. */
  redisIsPrivate: boolean;
  /** The setting ADMIN_URL. */
  adminUrl: string | undefined;
  /** The setting ADMIN_API_HOSTS. */
  adminApiHosts: readonly string[];
  /** The setting TRUST_PROXY. */
  trustProxy: readonly string[];
  /** This gateway itself, whose state is known without Redis. */
  service: Pick<Service, 'health' | 'statuses'>;
  /** Which addresses webhooks may have. */
  webhookRules: WebhookRules;
  /** What the pages say of the API. */
  api: PageSettings;
  /** Where customers see the gateway. */
  publicOrigin: () => string;
  log: Logger;
  /** Counts a refusal in the metrics, by the code of its error. */
  countRefusal: (code: string) => void;
  /** Unix milliseconds. */
  now: () => number;
}

/** The console of the admin port: pages for the browser, and the API that they call. */
export interface Console {
  api: Router;
  pages: Router;
  /** Logs an error that is a bug, whose detail is never sent. */
  logUnexpected: (error: unknown) => void;
  /** Lets `ops console` find it. @param origin address of the console for a browser */
  announce(origin: string): void;
  /** Logs in to Redis with the user and the password of a URL from now on. */
  useCredentials(redisUrl: string): void;
  close(): Promise<void>;
}

export function createConsole(dependencies: ConsoleDependencies): Console {
  const {
    redisUrl: url,
    redisIsPrivate,
    adminUrl,
    adminApiHosts,
    trustProxy,
    service,
    api: pageSettings,
    webhookRules,
    publicOrigin,
    log,
    countRefusal,
    now,
  } = dependencies;
  const redis = createConsoleRedis({ url, isPrivate: redisIsPrivate, log, now });
  const { read } = redis;
  const takeTurn = createSearchTurns();
  const access = createConsoleAccess({ read, adminUrl, adminApiHosts, trustProxy, log, countRefusal, now });
  let announcement: Announcement | undefined;
  const logUnexpected = (error: unknown) => log.error({ err: error }, 'unexpected error on the admin port');
  const live = createLiveFeed({
    createReader: () => createLiveReader({ read, service, redisIsPrivate, now }),
    logUnexpected,
  });
  return {
    api: Router().use(
      apiDocs(),
      operatorsApi({
        read,
        search: (req, use) => takeTurn(callerOf(req).id, () => read(use)),
        change: (req, use) => redis.change({ who: callerOf(req).who, reason: changeReason(req) }, use),
        webhookRules,
        access,
        publicOrigin,
        live,
        logUnexpected,
      }),
    ),
    pages: consolePages(pageSettings),
    logUnexpected,
    announce(origin) {
      announcement = keepConsoleAnnounced({ read }, origin);
    },
    useCredentials: (redisUrl) => changeCredentials(redis.redis, redisUrl),
    async close() {
      await announcement?.close();
      live.close();
      access.close();
      redis.close();
    },
  };
}
