import { setTimeout as sleep } from 'node:timers/promises';

/** Disposed of, it is stopped, too, and what went wrong with it is not told: something else did before. */
export interface SteadyLoad<T> extends AsyncDisposable {
  /** What came of all requests so far, in the order of their ends. */
  outcomes: T[];
  /** No more requests; resolves when the last one is over. */
  stop(): Promise<T[]>;
}

/** Clients that send one request after another until they are stopped. */
export function startLoad<T>(
  clients: number,
  request: (client: number) => Promise<T>,
  pauseMs = 0,
): SteadyLoad<T> {
  const outcomes: T[] = [];
  const over = new AbortController();
  async function run(client: number): Promise<void> {
    while (!over.signal.aborted) {
      outcomes.push(await request(client));
      if (pauseMs > 0) await sleep(pauseMs);
    }
  }
  const running = Promise.all(Array.from({ length: clients }, (_, client) => run(client)));
  // Whoever stops it learns of it.
  running.catch(() => {});
  return {
    outcomes,
    async stop() {
      over.abort();
      await running;
      return outcomes;
    },
    async [Symbol.asyncDispose]() {
      over.abort();
      await Promise.allSettled([running]);
    },
  };
}

/** How many there are of each. */
export function tally(outcomes: readonly (string | number)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}
