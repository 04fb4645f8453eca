import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { RedisClient } from '../../../gateway/platform/redis/redis-client.ts';
import { send } from '../http/http.ts';
import type { IssuedKey } from '../kits/keys.ts';
import { dayUsage } from '../stores/day-counter.ts';
import { startLoad } from './steady-load.ts';

/** Result of one request. */
interface KeyLoadOutcome {
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

/** Of three gateways and keys with 60 requests a day, each gateway may admit the limit once more without Redis. */
export async function expectServedDuringOutage(
  { outcomes, count }: ReturnType<typeof startKeyLoad>,
  keys: readonly IssuedKey[],
  redis: RedisClient,
): Promise<void> {
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set([200, 429]));
  for (const { key, customerId } of keys) {
    const served = count(key, 200);
    expect(served).toBeGreaterThanOrEqual(60);
    expect(served).toBeLessThanOrEqual(240);
    // A replica may lack the master's last writes.
    expect(await dayUsage(redis, customerId)).toBeGreaterThanOrEqual(served - 3);
  }
}
