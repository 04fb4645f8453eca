import { expect, onTestFinished, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { startRedisState } from '../support/kits/redis-state.ts';
import { startAnyRedis } from '../support/stores/redis-server.ts';

test('a gateway that ends while it announces itself is not counted afterwards', async () => {
  await using server = await startAnyRedis();
  const redis = await connectRedis(server.url);
  onTestFinished(() => redis.disconnect());
  const { announcement, close, waitUntilOpen } = startRedisState(server.url);
  expect(await waitUntilOpen(5000)).toBe(true);
  expect(await redis.hexists(redisKeys.processStatuses, announcement.id)).toBe(1);
  const published = announcement.publish();
  await close();
  await published;
  expect(await redis.exists(redisKeys.processStatuses)).toBe(0);
});
