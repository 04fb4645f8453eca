import { createConsoleAccess, type ConsoleAccessDependencies } from '../api/access/console-access.ts';
import { operatorsApi, type OperatorsApiDependencies } from '../api/api.ts';
import { createConsoleRedis } from '../api/console-redis.ts';
import { consolePages, type PageSettings } from './console-pages.ts';

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
