import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { PetStore } from './pet-store.ts';

export interface DatabaseHealth {
  /** However many ask while the database hangs, one connection of the pool waits for it. Never rejects. */
  ask(): Promise<'ok' | 'unavailable'>;
  /** Asks every few seconds, whether anybody else does or not, until aborted. */
  watch(signal: AbortSignal): Promise<void>;
}

const watchMs = 5000;

/** Whether the database answers; a line in the log at each change. */
export function createDatabaseHealth({
  store,
  log,
}: {
  store: Pick<PetStore, 'ping'>;
  log: Logger;
}): DatabaseHealth {
  let pending: Promise<'ok' | 'unavailable'> | undefined;
  let away = false;

  async function ping(): Promise<'ok' | 'unavailable'> {
    try {
      await store.ping();
      if (away) log.warn('The database answers again');
      away = false;
      return 'ok';
    } catch (error) {
      if (!away) log.error({ err: error }, 'The database does not answer');
      away = true;
      return 'unavailable';
    }
  }

  function ask(): Promise<'ok' | 'unavailable'> {
    pending ??= ping().finally(() => {
      pending = undefined;
    });
    return pending;
  }

  return {
    ask,
    async watch(signal) {
      while (!signal.aborted) {
        await ask();
        await sleep(watchMs, undefined, { signal, ref: false }).catch(() => {});
      }
    },
  };
}
