import type { Counter } from 'prom-client';

/** A time without Redis in ISO 8601; `to` is null while it lasts. */
export interface LocalModePeriod {
  from: string;
  to: string | null;
}

/** When this process decided without Redis. */
export interface LocalModeTimes {
  /** To be called when local mode begins (true) or ends. */
  changed(local: boolean): void;
  /**
   * Times in ISO 8601; `to` is null while local mode lasts. Null as a whole without a local mode since the start of the
   * process, which itself waits for Redis.
   */
  last(): LocalModePeriod | null;
  /** Since when Redis is unavailable, at the start as well; undefined while it is available. */
  unavailableSince(): string | undefined;
}

/** @param now Unix milliseconds by Redis' clock, as last known */
export function createLocalModeTimes(now: () => number): LocalModeTimes {
  const iso = () => new Date(now()).toISOString();
  const startedAt = iso();
  let everAvailable = false;
  let last: LocalModePeriod | null = null;

  return {
    changed(local) {
      if (local) last = { from: iso(), to: null };
      else if (everAvailable && last !== null) last = { from: last.from, to: iso() };
      everAvailable = true;
    },
    last: () => last,
    unavailableSince() {
      if (!everAvailable) return startedAt;
      return last?.to === null ? last.from : undefined;
    },
  };
}

/** The seconds in which a process decides without Redis, which it does at its start. */
export interface LocalModeSeconds {
  /** To be called when local mode begins (true) or ends. */
  changed(local: boolean): void;
  stop(): void;
}

/** Interval for the seconds while they last. */
const countMs = 1000;

export function countLocalModeSeconds(seconds: Pick<Counter, 'inc'>): LocalModeSeconds {
  let isLocal = true;
  let countedAtMs = performance.now();

  function count(): void {
    const atMs = performance.now();
    if (isLocal) seconds.inc((atMs - countedAtMs) / 1000);
    countedAtMs = atMs;
  }

  const timer = setInterval(count, countMs);
  return {
    changed(local) {
      count();
      isLocal = local;
    },
    stop: () => clearInterval(timer),
  };
}
