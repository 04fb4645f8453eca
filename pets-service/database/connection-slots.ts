import type { PrismaClient } from '../generated/prisma/client.ts';
import { DatabaseTimeout, isNoResponse } from './database-error.ts';

/** Prisma on a pool. Every statement of a request is started through the slots. */
export interface Connections {
  prisma: PrismaClient;
  slots: ConnectionSlots;
}

export type ConnectionSlots = ReturnType<typeof createConnectionSlots>;

/** Maximum time that a call waits for a free connection. */
const waitTimeoutMs = 2000;

/** Maximum number of calls that wait for the same connections. */
export const maxWaiting = 1000;

/**
 * Runs statements, no more at a time than a pool has connections. So nothing waits inside the pool, and a batch takes
 * further calls until a connection is free. While the database does not respond, one statement at a time tries it.
 * @param onStatement called with the duration of each statement, whatever its outcome
 */
export function createConnectionSlots(size: number, onStatement: (seconds: number) => void = () => {}) {
  let running = 0;
  /** Each takes over a connection, in the order in which they came. */
  const waiting = new Set<() => void>();
  /** Time of the latest response or, if it is later, of the start of the oldest statement. */
  let silentSince: number | undefined;
  /** Whether a statement got no response in time, and none got one after it was started. */
  let unresponsive = false;

  /** @throws DatabaseTimeout if a call need not wait because no connection is likely to become free in time */
  function assertAvailable(waitingCalls: number): void {
    const silentMs = performance.now() - (silentSince ?? Infinity);
    const stuck = running === size && silentMs > waitTimeoutMs;
    if (stuck || (unresponsive && running > 0)) {
      throw new DatabaseTimeout('refused', 'the database does not respond');
    }
    if (waitingCalls >= maxWaiting) {
      throw new DatabaseTimeout('refused', 'too many requests wait for a connection');
    }
  }

  function takeOver(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    waiting.add(resolve);
    setTimeout(() => {
      const isWaiting = waiting.delete(resolve);
      if (isWaiting) reject(new DatabaseTimeout('refused', 'no connection was free in time'));
    }, waitTimeoutMs).unref();
    return promise;
  }

  function handOver(): void {
    const [next] = waiting;
    if (next === undefined) running -= 1;
    else waiting.delete(next);
    next?.();
    if (running === 0 && !unresponsive) silentSince = undefined;
  }

  return {
    assertAvailable,
    /** Runs a statement as soon as a connection is free. @throws DatabaseTimeout if none becomes free in time */
    async run<T>(statement: () => Promise<T>): Promise<T> {
      assertAvailable(waiting.size);
      if (running < size) running += 1;
      else await takeOver();
      const startedAt = performance.now();
      silentSince ??= startedAt;
      let responded = true;
      try {
        return await statement();
      } catch (error) {
        responded = !isNoResponse(error);
        throw error;
      } finally {
        onStatement((performance.now() - startedAt) / 1000);
        if (responded) {
          unresponsive = false;
          silentSince = performance.now();
        } else if (silentSince <= startedAt) {
          // Otherwise only its own connection was dead.
          unresponsive = true;
        }
        handOver();
      }
    },
    state: () => ({ size, running, waiting: waiting.size }),
  };
}
