import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { PetsError } from '../errors.ts';
import { isSchemaError } from './database-error.ts';
import type { PetStore } from './pet-store.ts';

interface DeleteExpiredKeysDependencies {
  store: Pick<PetStore, 'deleteExpiredKeys'>;
  log: Logger;
  intervalMs?: number;
  /** Maximum number of keys for one statement, so that none takes long. */
  batch?: number;
  /** Pause between two statements, for requests. */
  pauseMs?: number;
}

/**
 * Deletes expired idempotency keys at once and then every minute, until aborted. Instances that do so at the same time
 * skip each other's rows.
 */
export async function deleteExpiredKeys(
  { store, log, intervalMs = 60_000, batch = 1000, pauseMs = 50 }: DeleteExpiredKeysDependencies,
  signal: AbortSignal,
): Promise<void> {
  let failing = false;
  while (!signal.aborted) {
    let deleted = 0;
    try {
      deleted = await store.deleteExpiredKeys(batch);
      failing = false;
    } catch (error) {
      // database-health.ts reports an unavailable database. Anything else is logged once; expired keys have no effect.
      const isReported = error instanceof PetsError && !isSchemaError(error.cause);
      if (!failing && !isReported) {
        log.warn({ err: error }, 'expired idempotency keys cannot be deleted; retrying every minute');
      }
      failing = !isReported;
    }
    await sleep(deleted === batch ? pauseMs : intervalMs, undefined, { signal, ref: false }).catch(() => {});
  }
}
