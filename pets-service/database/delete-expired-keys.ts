import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { PetsError } from '../errors.ts';
import { isSchemaFault } from './database-error.ts';
import type { PetStore } from './pet-store.ts';

interface ForgetOldKeysDependencies {
  store: Pick<PetStore, 'forgetOldKeys'>;
  log: Logger;
  everyMs?: number;
  /** Keys removed by one statement, so that none takes long. */
  batch?: number;
  /** Between two statements, which leaves the database to requests. */
  pauseMs?: number;
}

/**
 * Removes idempotency keys that no longer count, at once and then every minute, until aborted. Instances that do so at
 * the same time skip what another one is busy with.
 */
export async function forgetOldKeys(
  { store, log, everyMs = 60_000, batch = 1000, pauseMs = 50 }: ForgetOldKeysDependencies,
  signal: AbortSignal,
): Promise<void> {
  let failing = false;
  while (!signal.aborted) {
    let waitMs = everyMs;
    try {
      const forgotten = await store.forgetOldKeys(batch);
      if (forgotten === batch) waitMs = pauseMs;
      failing = false;
    } catch (error) {
      // A database that is away is told of elsewhere (database-health.ts), anything else once. Old keys that stay a
      // little longer are ignored all the same.
      const away =
        error instanceof PetsError && error.code === 'service_unavailable' && !isSchemaFault(error.cause);
      if (!failing && !away)
        log.warn({ err: error }, 'old idempotency keys cannot be removed; trying every minute');
      failing = !away;
    }
    await sleep(waitMs, undefined, { signal, ref: false }).catch(() => {});
  }
}
