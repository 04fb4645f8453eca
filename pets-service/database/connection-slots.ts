import type { PrismaClient } from '../generated/prisma/client.ts';
import { DatabaseTimeout, isNoResponse } from './database-error.ts';

/** Prisma on a pool. Every statement of a request is started through the slots. */
export interface Connections {
  prisma: PrismaClient;
  slots: ConnectionSlots;
}

/** Maximum time that a call waits for a free connection. */
const waitTimeoutMs = 2000;

/** Maximum number of calls that wait for the same connections. */
export const maxWaiting = 1000;

/**
 * Runs statements, no more at a time than a pool has connections. So nothing waits inside the pool, and a batch takes
 * further calls until a connection is free. While the database does not respond, one statement at a time tries it.
 */
export class ConnectionSlots {
  readonly #size: number;
  readonly #onStatement: (seconds: number) => void;
  #running = 0;
  /** Each takes over a connection, in the order in which they came. */
  readonly #waiting = new Set<() => void>();
  /** Time of the latest response or, if it is later, of the start of the oldest statement. */
  #silentSince: number | undefined;
  /** Whether a statement got no response in time, and none got one after it was started. */
  #unresponsive = false;

  /** @param onStatement called with the duration of each statement, whatever its outcome */
  constructor(size: number, onStatement: (seconds: number) => void = () => {}) {
    this.#size = size;
    this.#onStatement = onStatement;
  }

  get state() {
    return { size: this.#size, running: this.#running, waiting: this.#waiting.size };
  }

  /** @throws DatabaseTimeout if a call need not wait because no connection is likely to become free in time */
  assertAvailable(waitingCalls: number): void {
    const silentMs = performance.now() - (this.#silentSince ?? Infinity);
    const stuck = this.#running === this.#size && silentMs > waitTimeoutMs;
    if (stuck || (this.#unresponsive && this.#running > 0)) {
      throw new DatabaseTimeout('refused', 'the database does not respond');
    }
    if (waitingCalls >= maxWaiting) {
      throw new DatabaseTimeout('refused', 'too many requests wait for a connection');
    }
  }

  /** Runs a statement as soon as a connection is free. @throws DatabaseTimeout if none becomes free in time */
  async run<T>(statement: () => Promise<T>): Promise<T> {
    this.assertAvailable(this.#waiting.size);
    if (this.#running < this.#size) this.#running += 1;
    else await this.#takeOver();
    const startedAt = performance.now();
    this.#silentSince ??= startedAt;
    let responded = true;
    try {
      return await statement();
    } catch (error) {
      responded = !isNoResponse(error);
      throw error;
    } finally {
      this.#onStatement((performance.now() - startedAt) / 1000);
      if (responded) {
        this.#unresponsive = false;
        this.#silentSince = performance.now();
      } else if (this.#silentSince <= startedAt) {
        // Otherwise only its own connection was dead.
        this.#unresponsive = true;
      }
      this.#handOver();
    }
  }

  #takeOver(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    setTimeout(() => {
      const isWaiting = this.#waiting.delete(resolve);
      if (isWaiting) reject(new DatabaseTimeout('refused', 'no connection was free in time'));
    }, waitTimeoutMs).unref();
    return promise;
  }

  #handOver(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#running -= 1;
    else this.#waiting.delete(next);
    next?.();
    if (this.#running === 0 && !this.#unresponsive) this.#silentSince = undefined;
  }
}
