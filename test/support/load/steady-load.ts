import { setTimeout as sleep } from 'node:timers/promises';

/** Disposal stops the load and ignores its errors, because an earlier failure is the cause. */
export interface SteadyLoad<T> extends AsyncDisposable {
  /** Results so far, in the order of completion. */
  outcomes: T[];
  /** Stops, and resolves when no request is in flight. */
  stop(): Promise<T[]>;
}

/** Starts clients that send one request after another until they are stopped. */
export function startLoad<T>(
  clients: number,
  request: (client: number) => Promise<T>,
  pauseMs = 0,
): SteadyLoad<T> {
  const outcomes: T[] = [];
  const stopping = new AbortController();
  async function run(client: number): Promise<void> {
    while (!stopping.signal.aborted) {
      outcomes.push(await request(client));
      if (pauseMs > 0) await sleep(pauseMs);
    }
  }
  const running = Promise.all(Array.from({ length: clients }, (_, client) => run(client)));
  // Errors are reported by stop().
  running.catch(() => {});
  return {
    outcomes,
    async stop() {
      stopping.abort();
      await running;
      return outcomes;
    },
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await Promise.allSettled([running]);
    },
  };
}

/** Counts equal outcomes. */
export function countOutcomes(outcomes: readonly (string | number)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}
