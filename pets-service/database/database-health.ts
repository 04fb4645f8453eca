import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isSchemaFault } from './database-error.ts';
import type { PetStore } from './pet-store.ts';

/** unusable: it answers, but is not what this version needs, as before its migrations are applied. */
export type DatabaseState = 'ok' | 'unavailable' | 'unusable';

export interface DatabaseHealth {
  /** However many ask while the database hangs, one connection of the pool waits for it. Never rejects. */
  ask(): Promise<DatabaseState>;
  /** Whether it has been ok once. */
  readonly proven: boolean;
  /** Asks every few seconds, whether anybody else does or not, until aborted. */
  watch(signal: AbortSignal): Promise<void>;
}

const watchMs = 5000;

const faults = {
  unavailable: 'The database does not answer',
  unusable: 'The database has not what this version needs: are its migrations applied (npm run migrate)?',
};

/** Whether the database answers, and at first whether it has the schema; a line in the log at each change. */
export function createDatabaseHealth({
  store,
  log,
}: {
  store: Pick<PetStore, 'ping' | 'assertSchema'>;
  log: Logger;
}): DatabaseHealth {
  let pending: Promise<DatabaseState> | undefined;
  let last: DatabaseState = 'ok';
  let proven = false;

  async function ping(): Promise<DatabaseState> {
    try {
      await (proven ? store.ping() : store.assertSchema());
      proven = true;
      if (last !== 'ok') log.warn('The database answers as it should');
      last = 'ok';
    } catch (error) {
      const state = isSchemaFault(error) ? 'unusable' : 'unavailable';
      if (last !== state) log.error({ err: error }, faults[state]);
      last = state;
    }
    return last;
  }

  function ask(): Promise<DatabaseState> {
    pending ??= ping().finally(() => {
      pending = undefined;
    });
    return pending;
  }

  return {
    ask,
    get proven() {
      return proven;
    },
    async watch(signal) {
      while (!signal.aborted) {
        await ask();
        await sleep(watchMs, undefined, { signal, ref: false }).catch(() => {});
      }
    },
  };
}
