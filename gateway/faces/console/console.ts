import { Router } from 'express';
import { callerOf } from '../api/access/caller.ts';
import { createConsoleAccess, type ConsoleAccessDependencies } from '../api/access/console-access.ts';
import { apiDocs } from '../api/api-docs.ts';
import { operatorsApi } from '../api/api.ts';
import { changeReason } from '../api/change-reason.ts';
import { createConsoleRedis } from '../api/console-redis.ts';
import { createLive, type LiveDependencies } from '../api/live-state.ts';
import type { Api } from '../api/route.ts';
import { consolePages, type PageSettings } from './console-pages.ts';

interface ConsoleDependencies
  extends
    Omit<ConsoleAccessDependencies & LiveDependencies, 'read'>,
    Pick<Api, 'webhookNetworks' | 'publicOrigin'> {
  redisUrl: string;
  /** What the pages say of the API. */
  api: PageSettings;
}

/** The console of the admin port: pages for the browser, and the API that they call. */
export interface Console {
  api: Router;
  pages: Router;
  /** Logs an error that is a bug, whose detail is never sent. */
  logUnexpected: (error: unknown) => void;
  close(): void;
}

export function createConsole(dependencies: ConsoleDependencies): Console {
  const { redisUrl: url, redisIsPrivate: isPrivate, api: pageSettings, log } = dependencies;
  const redis = createConsoleRedis({ ...dependencies, url, isPrivate });
  const { read } = redis;
  const access = createConsoleAccess({ ...dependencies, read });
  const logUnexpected = (error: unknown) => log.error({ err: error }, 'unexpected error on the admin port');
  return {
    api: Router().use(
      apiDocs(),
      operatorsApi({
        ...dependencies,
        read,
        change: (req, use) => redis.change({ who: callerOf(req).who, reason: changeReason(req) }, use),
        access,
        live: createLive({ ...dependencies, read }),
        logUnexpected,
      }),
    ),
    pages: consolePages(pageSettings),
    logUnexpected,
    close() {
      access.close();
      redis.close();
    },
  };
}
