/** A value that is read at most once in an interval. */
export interface Periodically<T> {
  /** The value that was read last. */
  value(): T;
  /** Reads it again if it is due and no reading is under way. Does not wait for the reading, and never rejects. */
  refresh(): void;
}

/** @param read the value stays as it is if this rejects */
export function createPeriodically<T>(
  intervalMs: number,
  initial: T,
  read: () => Promise<T>,
): Periodically<T> {
  let value = initial;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let reading = false;

  async function readNow(): Promise<void> {
    reading = true;
    readAtMs = performance.now();
    try {
      value = await read();
    } catch {
      // Redis is unavailable, which is shown.
    } finally {
      reading = false;
    }
  }

  return {
    value: () => value,
    refresh() {
      if (!reading && performance.now() - readAtMs >= intervalMs) void readNow();
    },
  };
}
