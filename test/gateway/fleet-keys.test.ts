import { expect, test } from 'vitest';
import { countInFleet } from '../../gateway/quota/keys-in-use.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { startAnyRedis } from '../support/stores/redis-server.ts';

test('a key whose requests are spread over processes counts once, refused by any of them', async () => {
  await using server = await startAnyRedis();
  const redis = await connectRedis(server.url);
  const minuteMs = 60_000;
  const nowMs = 30_000_000 * minuteMs + 7000;
  const ids = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => `key_${from + index}`);
  // Three processes, each with other refused keys; together all 90 were refused.
  for (const process of [0, 1, 2]) {
    const keys = { active: ids(0, 90), refused: ids(30 * process, 30 * process + 30) };
    await countInFleet(redis, 'pro', keys, nowMs + process * 10_000);
  }
  const none = { active: [], refused: [] };
  const counts = await countInFleet(redis, 'pro', none, nowMs + minuteMs);
  // HyperLogLog is wrong by 1 %.
  expect(counts.active).toBeGreaterThan(85);
  expect(counts.active).toBeLessThan(95);
  expect(counts.refused / counts.active).toBeGreaterThan(0.9);
  // Nothing of another plan or minute.
  expect(await countInFleet(redis, 'free', none, nowMs + minuteMs)).toEqual({ active: 0, refused: 0 });
  expect(await countInFleet(redis, 'pro', none, nowMs + 2 * minuteMs)).toEqual({ active: 0, refused: 0 });
  redis.disconnect();
});
