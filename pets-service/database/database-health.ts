import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isSchemaError } from './database-error.ts';
import type { PetStore } from './pet-store.ts';

/** unusable: the database responds, but lacks something, for example because its migrations are not applied. */
export type DatabaseState = 'ok' | 'unavailable' | 'unusable';

export interface DatabaseHealth {
  /** All callers share one query, so that a database that hangs occupies one connection. Never rejects. */
  check(): Promise<DatabaseState>;
  /** Whether the state has been ok once. */
  readonly everHealthy: boolean;
  /** Checks every few seconds until aborted. */
  watch(signal: AbortSignal): Promise<void>;
}

const watchMs = 5000;

const messages = {
  unavailable: 'database is unavailable',
  unusable: 'database schema is missing or out of date; run npm run migrate',
};

interface DatabaseHealthDependencies {
  store: Pick<PetStore, 'ping' | 'assertSchema' | 'unfinishedMigration'>;
  log: Logger;
}

/** Checks whether the database responds, and at first whether it has the schema. Logs each change. */
export function createDatabaseHealth({ store, log }: DatabaseHealthDependencies): DatabaseHealth {
  let pending: Promise<DatabaseState> | undefined;
  let last: DatabaseState = 'ok';
  let lastMessage = '';
  let everHealthy = false;

  async function ping(): Promise<DatabaseState> {
    try {
      await (everHealthy ? store.ping() : store.assertSchema());
      everHealthy = true;
      if (last !== 'ok') log.warn('database is available again');
      last = 'ok';
      lastMessage = '';
    } catch (error) {
      last = isSchemaError(error) ? 'unusable' : 'unavailable';
      const message = await describe(last);
      if (lastMessage !== message) log.error({ err: error }, message);
      lastMessage = message;
    }
    return last;
  }

  async function describe(state: 'unavailable' | 'unusable'): Promise<string> {
    const migration = state === 'unusable' ? await store.unfinishedMigration() : undefined;
    if (migration === undefined) return messages[state];
    return `database migration ${migration} has not finished; run npm run migrate -- --status`;
  }

  function check(): Promise<DatabaseState> {
    pending ??= ping().finally(() => {
      pending = undefined;
    });
    return pending;
  }

  return {
    check,
    get everHealthy() {
      return everHealthy;
    },
    async watch(signal) {
      while (!signal.aborted) {
        await check();
        await sleep(watchMs, undefined, { signal, ref: false }).catch(() => {});
      }
    },
  };
}
