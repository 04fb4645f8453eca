import { setTimeout as sleep } from 'node:timers/promises';
import { send } from '../http/http.ts';
import { startLoad } from './steady-load.ts';

/** Result of one request. */
export interface KeyLoadOutcome {
  key: string;
  /** 0 without a response. */
  status: number;
}

const clients = 6;
const pauseMs = 15;

/** Starts clients that list pets with each key in turn, at each gateway in turn. */
export function startKeyLoad(urls: readonly string[], keys: readonly string[]) {
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
    /** Results so far. */
    outcomes,
    /** Number of requests with this key and status so far. */
    count: (key: string, status: number) =>
      outcomes.filter((outcome) => outcome.key === key && outcome.status === status).length,
    /** Resolves after this number of further requests. */
    async more(requests: number) {
      const target = outcomes.length + requests;
      while (outcomes.length < target) await sleep(pauseMs);
    },
    /** Stops, and resolves when no request is in flight. */
    stop,
  };
}
