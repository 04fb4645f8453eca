import { DatabaseTimeout, isNoResponse } from './database-error.ts';

/** Maximum time that a call waits for a free connection. */
export const waitTimeoutMs = 2000;

/** Maximum number of calls that wait for the same connections. */
export const maxWaiting = 1000;

/** Starts a statement. Returns undefined if it is no longer needed. The caller handles its errors. */
type Start = () => Promise<unknown> | undefined;

/**
 * Starts statements, no more at a time than a pool has connections. So nothing waits inside the pool, and a batch takes
 * further calls until a connection is free. While the database does not respond, one statement at a time tries it.
 */
export class ConnectionSlots {
  readonly #size: number;
  readonly #onStatement: (seconds: number) => void;
  #running = 0;
  /** In the order in which they will be started. */
  readonly #waiting = new Set<Start>();
  /** Time of the latest response or, if it is later, of the start of the oldest statement. */
  #silentSince: number | undefined;
  /** Whether a statement got no response in time, and none got one after it was started. */
  #unresponsive = false;

  /** @param onStatement called with the duration of each statement, whatever its outcome */
  constructor(size: number, onStatement: (seconds: number) => void = () => {}) {
    this.#size = size;
    this.#onStatement = onStatement;
  }

  get state(): { size: number; running: number; waiting: number } {
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

  /** Calls `start` as soon as a connection is free. */
  whenFree(start: Start): void {
    // A new function, because a set would hold the same one once.
    this.#waiting.add(() => start());
    this.#startNext();
  }

  /** Runs one statement as soon as a connection is free. @throws DatabaseTimeout if none becomes free in time */
  async run<T>(statement: () => Promise<T>): Promise<T> {
    this.assertAvailable(this.#waiting.size);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const start = () => {
      clearTimeout(timer);
      const result = statement();
      result.then(resolve, reject);
      return result;
    };
    const timer = setTimeout(() => {
      this.#waiting.delete(start);
      reject(noFreeConnection());
    }, waitTimeoutMs);
    this.#waiting.add(start);
    this.#startNext();
    return promise;
  }

  #startNext(): void {
    for (const start of this.#waiting) {
      if (this.#running === this.#size) return;
      this.#waiting.delete(start);
      const statement = start();
      if (statement !== undefined) void this.#observe(statement);
    }
  }

  async #observe(statement: Promise<unknown>): Promise<void> {
    const startedAt = performance.now();
    this.#silentSince ??= startedAt;
    this.#running += 1;
    let responded = true;
    try {
      await statement;
    } catch (error) {
      responded = !isNoResponse(error);
    }
    this.#running -= 1;
    this.#onStatement((performance.now() - startedAt) / 1000);
    if (responded) {
      this.#unresponsive = false;
      this.#silentSince = performance.now();
    } else if (this.#silentSince <= startedAt) {
      // Otherwise only its own connection was dead.
      this.#unresponsive = true;
    }
    if (this.#running === 0 && !this.#unresponsive) this.#silentSince = undefined;
    this.#startNext();
  }
}

export const noFreeConnection = () => new DatabaseTimeout('refused', 'no connection was free in time');
