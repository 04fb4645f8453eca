import type { Counter } from 'prom-client';

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
