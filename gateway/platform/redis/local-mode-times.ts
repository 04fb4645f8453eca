import type { Counter } from '@prometheus-io/client';

/** Interval for the seconds while local mode lasts. */
const countMs = 1000;

/**
 * When, and for how many seconds, this process decides without Redis, as it does at its start.
 * @param now Unix milliseconds by Redis' clock, as last known
 */
export function createLocalModeTimes(now: () => number, seconds: Pick<Counter, 'inc'>) {
  const iso = () => new Date(now()).toISOString();
  const startedAt = iso();
  let everAvailable = false;
  let isLocal = true;
  let countedAtMs = performance.now();
  let last: { from: string; to: string | null } | null = null;

  function count(): void {
    const atMs = performance.now();
    if (isLocal) seconds.inc((atMs - countedAtMs) / 1000);
    countedAtMs = atMs;
  }
  const timer = setInterval(count, countMs);

  return {
    /** To be called when local mode begins (true) or ends. */
    changed(local: boolean): void {
      count();
      isLocal = local;
      if (local) last = { from: iso(), to: null };
      else if (everAvailable && last !== null) last = { from: last.from, to: iso() };
      everAvailable = true;
    },
    /**
     * Times in ISO 8601; `to` is null while local mode lasts. Null as a whole without a local mode since the start of the
     * process, which itself waits for Redis.
     */
    last: () => last,
    /** Since when Redis is unavailable, at the start as well; undefined while it is available. */
    unavailableSince(): string | undefined {
      if (!everAvailable) return startedAt;
      return last?.to === null ? last.from : undefined;
    },
    stop: () => clearInterval(timer),
  };
}
