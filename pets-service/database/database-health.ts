import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { SchemaError } from './database-error.ts';
import type { PetStore } from './pet-store.ts';

/** unusable: the database responds, but lacks something, for example because its migrations are not applied. */
type DatabaseState = 'ok' | 'unavailable' | 'unusable';

export type DatabaseHealth = ReturnType<typeof createDatabaseHealth>;

const watchMs = 5000;

/** Checks whether the database responds, and at first whether it has the schema. Logs each change. */
export function createDatabaseHealth({ store, log }: { store: PetStore; log: Logger }) {
  let pending: Promise<DatabaseState> | undefined;
  let everHealthy = false;
  /** What was logged; undefined while the database is ok. */
  let problem: string | undefined;

  async function ping(): Promise<DatabaseState> {
    try {
      await (everHealthy ? store.ping() : store.assertSchema());
      if (problem !== undefined) log.warn('database is available again');
      everHealthy = true;
      problem = undefined;
      return 'ok';
    } catch (error) {
      const isUnusable = error instanceof SchemaError;
      const found = isUnusable ? error.message : 'database is unavailable';
      if (problem !== found) log.error({ err: isUnusable ? error.cause : error }, found);
      problem = found;
      return isUnusable ? 'unusable' : 'unavailable';
    }
  }

  /**
   * All callers share one query, so that a database that hangs occupies one connection. Never rejects.
   * @returns `unavailable` if the state is not known in time
   */
  function check(timeoutMs: number): Promise<DatabaseState> {
    pending ??= ping().finally(() => {
      pending = undefined;
    });
    return Promise.race([pending, sleep(timeoutMs, 'unavailable' as const, { ref: false })]);
  }

  return {
    check,
    /** Whether the state has been ok once. */
    everHealthy: () => everHealthy,
    /** Checks every few seconds until aborted. */
    async watch(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        await check(watchMs);
        await sleep(watchMs, undefined, { signal, ref: false }).catch(() => {});
      }
    },
  };
}
