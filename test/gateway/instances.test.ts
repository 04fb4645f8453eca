import { expect, onTestFinished, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { createInstances } from '../../gateway/quota/instances.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { startAnyRedis } from '../support/stores/redis-server.ts';

test('a gateway that ends while it announces itself is not counted afterwards', async () => {
  await using server = await startAnyRedis();
  const redis = await connectRedis(server.url);
  onTestFinished(() => redis.disconnect());
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
