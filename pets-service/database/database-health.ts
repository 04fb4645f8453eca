import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { PetStore } from './pet-store.ts';

export type DatabaseHealth = ReturnType<typeof createDatabaseHealth>;

/** Checks whether the database responds and has the tables of this version. Logs each change. */
export function createDatabaseHealth({ store, log }: { store: Pick<PetStore, 'check'>; log: Logger }) {
  let everHealthy = false;
  let isLogged = false;

  async function ask(): Promise<'ok' | 'unavailable'> {
    try {
      await store.check();
      if (isLogged) log.warn('database is available again');
      isLogged = false;
      everHealthy = true;
      return 'ok';
    } catch (error) {
      const outdated = everHealthy ? '' : ', or its schema is out of date; run npm run migrate';
      if (!isLogged) log.error({ err: error }, `database is unavailable${outdated}`);
      isLogged = true;
      return 'unavailable';
    }
  }

  return {
    /** Whether the database has been ok once. */
    everHealthy: () => everHealthy,
    /** Never rejects. @returns `unavailable` if the state is not known in time */
    check: (timeoutMs: number) =>
      Promise.race([ask(), sleep(timeoutMs, 'unavailable' as const, { ref: false })]),
  };
}
