import { afterAll, beforeAll, expect, test } from 'vitest';
import { createInstances } from '../../gateway/quota/instances.ts';
import type { RedisClient } from '../../gateway/redis/redis-client.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { startAnyRedis, type RedisServer } from '../support/stores/redis-server.ts';

let server: RedisServer;
let redis: RedisClient;

beforeAll(async () => {
  server = await startAnyRedis();
  redis = await connectRedis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server[Symbol.asyncDispose]();
});

test('a gateway that ends while it announces itself is not counted afterwards', async () => {
  const instances = createInstances({
    redis,
    enforced: () => ({ known: {}, defaults: {} }),
    readStatus: undefined,
    now: () => Date.now(),
  });
  const announced = instances.announce();
  await instances.leave();
  await announced;
  expect(await redis.zcard(redisKeys.instances)).toBe(0);
  expect(await redis.exists(redisKeys.instance(instances.id))).toBe(0);
});
