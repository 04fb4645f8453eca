import { createCounts, type MakeCounts } from '../http/in-use-counters.ts';

/** A kind of thing and its name, and how many there are. */
export type CountEntry = [key: string, count: number];

/** Changes are told together, this long after the first. */
const delayMs = 20;
/** Of a limit. What a worker has less of than its part of this is not told: it would be most of all there is to tell. */
const tolerance = 0.1;

/** Calls `tell` once, a moment after the first of many calls. */
function soon(tell: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  return () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      tell();
    }, delayMs);
  };
}

export interface SharedCounts {
  makeCounts: MakeCounts;
  /** What the other workers have, as far as it has changed. */
  hear(elsewhere: readonly CountEntry[]): void;
}

/**
 * Counts of a worker that include what the other workers have, so that a limit of the whole gateway is kept however
 * unevenly connections are spread over workers. They learn of each other a moment later and not of small numbers:
 * all together may exceed a limit by a tenth and by what comes within that moment; no one is refused before its time.
 */
export function createSharedCounts(workers: number, tell: (own: CountEntry[]) => void): SharedCounts {
  const elsewhere = new Map<string, number>();
  const told = new Map<string, number>();
  const changed = new Map<string, number>();
  const tellSoon = soon(() => {
    const entries = [...changed];
    changed.clear();
    for (const [key, count] of entries) set(told, key, count);
    tell(entries);
  });

  return {
    makeCounts(kind, limit) {
      const own = createCounts();
      const threshold = (limit * tolerance) / workers;

      function note(name: string): void {
        const key = `${kind} ${name}`;
        const count = own.of(name) < threshold ? 0 : own.of(name);
        if (count === (changed.get(key) ?? told.get(key) ?? 0)) return;
        changed.set(key, count);
        tellSoon();
      }

      return {
        of: (name) => own.of(name) + (elsewhere.get(`${kind} ${name}`) ?? 0),
        add(name) {
          own.add(name);
          note(name);
        },
        remove(name) {
          own.remove(name);
          note(name);
        },
      };
    },
    hear(entries) {
      for (const [key, count] of entries) set(elsewhere, key, count);
    },
  };
}

export interface CountExchange {
  joined(worker: number): void;
  heard(worker: number, own: readonly CountEntry[]): void;
  left(worker: number): void;
}

/**
 * The primary's part: adds up what workers have.
 * @param tell is told what all others than a worker have, as far as it has changed
 */
export function createCountExchange(tell: (worker: number, elsewhere: CountEntry[]) => void): CountExchange {
  const byWorker = new Map<number, Map<string, number>>();
  const total = new Map<string, number>();
  const changed = new Set<string>();
  const tellSoon = soon(() => {
    const keys = [...changed];
    changed.clear();
    for (const [worker, own] of byWorker) {
      tell(
        worker,
        keys.map((key) => [key, (total.get(key) ?? 0) - (own.get(key) ?? 0)]),
      );
    }
  });

  function put(own: Map<string, number>, key: string, count: number): void {
    set(total, key, (total.get(key) ?? 0) - (own.get(key) ?? 0) + count);
    set(own, key, count);
    changed.add(key);
    tellSoon();
  }

  return {
    joined(worker) {
      byWorker.set(worker, new Map());
      for (const key of total.keys()) changed.add(key);
      if (changed.size > 0) tellSoon();
    },
    heard(worker, entries) {
      const own = byWorker.get(worker);
      // Its last words may come after its end.
      if (own !== undefined) for (const [key, count] of entries) put(own, key, count);
    },
    left(worker) {
      const own = byWorker.get(worker);
      byWorker.delete(worker);
      if (own !== undefined) for (const key of own.keys()) put(own, key, 0);
    },
  };
}

/** Takes memory for what there is any of. */
function set(counts: Map<string, number>, key: string, count: number): void {
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
