import fc from 'fast-check';
import { expect, test } from 'vitest';
import { quotaStory, tellStory } from '../support/checks/quota-run.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';

test(
  'the quota script decides as its model does, over up to 1,500 stories of a key',
  { tags: ['redis-server'], timeout: 180_000 },
  async () => {
    await using server = await startRedisServer();
    const redis = await connectRedis(server.url);
    let told = 0;
    await fc.assert(
      fc.asyncProperty(quotaStory, async (story) => {
        await tellStory(redis, story);
        told += 1;
      }),
      { numRuns: 1500, interruptAfterTimeLimit: 85_000 },
    );
    redis.disconnect();
    expect(told).toBeGreaterThan(100);
  },
);
