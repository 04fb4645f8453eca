import { setTimeout as sleep } from 'node:timers/promises';
import { send } from './http.ts';

/** What became of one request. */
export interface LoadRecord {
  key: string;
  /** 0 where no answer came. */
  status: number;
}

export interface SteadyLoad {
  /** So far. */
  records: readonly LoadRecord[];
  /** Requests of a key that had this status so far. */
  count(key: string, status: number): number;
  /** Resolves when that many requests more have been answered. */
  more(requests: number): Promise<void>;
  /** Resolves when all requests under way are answered. */
  stop(): Promise<void>;
}

const clients = 6;
const pauseMs = 15;

/** A few clients that ask for pets with one key after another, at one gateway after another. */
export function startSteadyLoad(urls: readonly string[], keys: readonly string[]): SteadyLoad {
  const records: LoadRecord[] = [];
  const over = new AbortController();
  let turn = 0;
  async function client(): Promise<void> {
    while (!over.signal.aborted) {
      turn += 1;
      const key = keys[turn % keys.length] ?? '';
      const url = urls[Math.floor(turn / keys.length) % urls.length];
      const status = await send(`${url}/v1/pets`, { key }).then(
        (answer) => answer.status,
        () => 0,
      );
      records.push({ key, status });
      await sleep(pauseMs);
    }
  }
  const running = Array.from({ length: clients }, client);
  return {
    records,
    count: (key, status) => records.filter((record) => record.key === key && record.status === status).length,
    async more(requests) {
      const wanted = records.length + requests;
      while (records.length < wanted) await sleep(pauseMs);
    },
    async stop() {
      over.abort();
      await Promise.all(running);
    },
  };
}
