import { setTimeout as sleep } from 'node:timers/promises';
import { send } from '../http/http.ts';
import { startLoad } from './steady-load.ts';

/** What became of one request. */
export interface KeyLoadOutcome {
  key: string;
  /** 0 where no answer came. */
  status: number;
}

export interface KeyLoad {
  /** So far. */
  outcomes: readonly KeyLoadOutcome[];
  /** Requests of a key that had this status so far. */
  count(key: string, status: number): number;
  /** Resolves when that many requests more have been answered. */
  more(requests: number): Promise<void>;
  /** Resolves when all requests under way are answered. */
  stop(): Promise<unknown>;
}

const clients = 6;
const pauseMs = 15;

/** A few clients that ask for pets with one key after another, at one gateway after another. */
export function startKeyLoad(urls: readonly string[], keys: readonly string[]): KeyLoad {
  let turn = 0;
  const { outcomes, stop } = startLoad<KeyLoadOutcome>(
    clients,
    async () => {
      turn += 1;
      const key = keys[turn % keys.length] ?? '';
      const url = urls[Math.floor(turn / keys.length) % urls.length];
      const status = await send(`${url}/v1/pets`, { key }).then(
        (response) => response.status,
        () => 0,
      );
      return { key, status };
    },
    pauseMs,
  );
  return {
    outcomes,
    count: (key, status) =>
      outcomes.filter((outcome) => outcome.key === key && outcome.status === status).length,
    async more(requests) {
      const wanted = outcomes.length + requests;
      while (outcomes.length < wanted) await sleep(pauseMs);
    },
    stop,
  };
}
