import { expect } from 'vitest';
import { addWebhook } from '../../../gateway/operations/webhooks.ts';
import type { RedisClient } from '../../../gateway/redis/redis-client.ts';
import { redisKeys } from '../../../gateway/redis/redis-keys.ts';
import { send } from '../http/http.ts';
import { eventSession, localRules } from '../kits/events-kit.ts';
import { keyIssuer } from '../kits/keys.ts';
import type { Service } from '../kits/service.ts';
import { idOf, type Receiver } from './receiver.ts';

const dayLimit = 5;
const concurrency = 40;

interface CrossThresholdsOptions {
  redis: RedisClient;
  receiver: Receiver;
  start: () => Promise<Service>;
  customers: number;
}

/**
 * Lets customers cross both of their thresholds on two gateways, of which one is killed with SIGKILL and started again on the way.
 * Expects each event exactly once in the stream, and at the receiver once but for what was under way.
 */
export async function crossThresholds({ redis, receiver, start, customers }: CrossThresholdsOptions) {
  const gateways = [await start(), await start()];
  const { store } = keyIssuer(redis);
  const wanted = { plan: 'pro', name: 'x', day: dayLimit, minute: 1000 };
  const keys: string[] = [];
  while (keys.length < customers) {
    const issued = await Promise.all(Array.from({ length: 20 }, () => store.issue(wanted)));
    keys.push(...issued.map(({ key }) => key));
  }
  const hook = { url: `${receiver.url}/thresholds`, types: ['quota.threshold'] };
  await addWebhook(eventSession(redis), 'operators', hook, localRules);

  /** Each round is a request of each customer. One more than the limit: a request of which the response is lost was counted. */
  const requests = Array.from({ length: dayLimit + 1 }, () => keys).flat();
  const killAt = Math.floor(requests.length * 0.7);
  let next = 0;
  let killed: Promise<void> | undefined;
  async function kill(): Promise<void> {
    gateways[0]?.signal('SIGKILL');
    await gateways[0]?.exited;
    gateways[0] = await start();
  }
  async function work(): Promise<void> {
    while (next < requests.length) {
      const index = next;
      next += 1;
      if (index >= killAt) killed ??= kill();
      const key = requests[index] ?? '';
      const responses = [index, index + 1].map(
        (turn) => () => send(`${gateways[turn % 2]?.url}/v1/pets`, { key }),
      );
      await responses[0]?.().catch(() => responses[1]?.());
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work));
  await killed;

  const expected = 2 * keys.length;
  const all = () => receiver.at('/thresholds').map(idOf);
  const received = () => new Set(all()).size;
  // The sweep comes each minute.
  await expect.poll(received, { timeout: 240_000, interval: 500 }).toBe(expected);
  // Another leader repeats what the last one had not recorded: eight requests at most are under way to a webhook. On a slow
  // machine the leader may change without a kill.
  expect(all().length).toBeLessThanOrEqual(expected + 3 * 8);
  const stream = await redis.xrange(redisKeys.events, '-', '+');
  const ids = stream.filter(([, list]) => list.includes('quota.threshold')).map(([, list]) => list[1]);
  expect({ events: ids.length, different: new Set(ids).size }).toEqual({
    events: expected,
    different: expected,
  });
}
