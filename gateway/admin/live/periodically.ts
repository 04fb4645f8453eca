/** A value that is read at most once in an interval. @param read the value stays as it is if this rejects */
export function createPeriodically<T>(intervalMs: number, initial: T, read: () => Promise<T>) {
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
    /** The value that was read last. */
    value: () => value,
    /** Reads it again if it is due and no reading is under way. Does not wait for the reading, and never rejects. */
    refresh() {
      if (!reading && performance.now() - readAtMs >= intervalMs) void readNow();
    },
  };
}
