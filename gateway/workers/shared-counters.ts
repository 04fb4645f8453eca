import { createCounter, type CreateCounter } from '../http/in-use-counters.ts';

/** Kind and name of a counter, and its count. */
export type CounterEntry = [key: string, count: number];

/** Changes are sent in batches, this long after the first one. */
const batchDelayMs = 20;
/** Share of a limit below which a worker does not report its count: small counts would be most of the traffic. */
const tolerance = 0.1;

/** Calls `send` once, shortly after the first of many calls. */
function debounce(send: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  return () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      send();
    }, batchDelayMs);
  };
}

export interface SharedCounters {
  createCounter: CreateCounter;
  /** Takes over changed counts of the other workers. */
  update(elsewhere: readonly CounterEntry[]): void;
}

/**
 * Counters of a worker that include the counts of the other workers, so that a limit of the whole gateway holds however
 * unevenly connections are spread. Workers learn of each other with a delay and not of small counts, so together they may
 * exceed a limit by a tenth and by what arrives within that delay. Nobody is refused below the limit.
 */
export function createSharedCounters(workers: number, send: (own: CounterEntry[]) => void): SharedCounters {
  const elsewhere = new Map<string, number>();
  const sent = new Map<string, number>();
  const changed = new Map<string, number>();
  const sendSoon = debounce(() => {
    const entries = [...changed];
    changed.clear();
    for (const [key, count] of entries) setCount(sent, key, count);
    send(entries);
  });

  return {
    createCounter(kind, limit) {
      const own = createCounter();
      const threshold = (limit * tolerance) / workers;

      function report(name: string): void {
        const key = `${kind} ${name}`;
        const count = own.count(name) < threshold ? 0 : own.count(name);
        if (count === (changed.get(key) ?? sent.get(key) ?? 0)) return;
        changed.set(key, count);
        sendSoon();
      }

      return {
        count: (name) => own.count(name) + (elsewhere.get(`${kind} ${name}`) ?? 0),
        add(name) {
          own.add(name);
          report(name);
        },
        remove(name) {
          own.remove(name);
          report(name);
        },
      };
    },
    update(entries) {
      for (const [key, count] of entries) setCount(elsewhere, key, count);
    },
  };
}

export interface CounterExchange {
  workerJoined(worker: number): void;
  countsReported(worker: number, own: readonly CounterEntry[]): void;
  workerLeft(worker: number): void;
}

/**
 * The primary's part: adds up the counts of all workers.
 * @param send receives, for a worker, the changed counts of all others
 */
export function createCounterExchange(
  send: (worker: number, elsewhere: CounterEntry[]) => void,
): CounterExchange {
  const byWorker = new Map<number, Map<string, number>>();
  const total = new Map<string, number>();
  const changed = new Set<string>();
  const sendSoon = debounce(() => {
    const keys = [...changed];
    changed.clear();
    for (const [worker, own] of byWorker) {
      send(
        worker,
        keys.map((key) => [key, (total.get(key) ?? 0) - (own.get(key) ?? 0)]),
      );
    }
  });

  function put(own: Map<string, number>, key: string, count: number): void {
    setCount(total, key, (total.get(key) ?? 0) - (own.get(key) ?? 0) + count);
    setCount(own, key, count);
    changed.add(key);
    sendSoon();
  }

  return {
    workerJoined(worker) {
      byWorker.set(worker, new Map());
      for (const key of total.keys()) changed.add(key);
      if (changed.size > 0) sendSoon();
    },
    countsReported(worker, entries) {
      const own = byWorker.get(worker);
      // The last message of a worker may arrive after its exit.
      if (own !== undefined) for (const [key, count] of entries) put(own, key, count);
    },
    workerLeft(worker) {
      const own = byWorker.get(worker);
      byWorker.delete(worker);
      if (own !== undefined) for (const key of own.keys()) put(own, key, 0);
    },
  };
}

/** Keeps no entry for a count of zero. */
function setCount(counts: Map<string, number>, key: string, count: number): void {
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
