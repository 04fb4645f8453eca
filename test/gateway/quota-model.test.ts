import fc from 'fast-check';
import { describe, test } from 'vitest';
import { startInProcessRedis } from '../../gateway/redis/embedded/in-process-redis.ts';
import { quotaStory, tellStory } from '../support/checks/quota-run.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';

describe('the quota script decides as its model does, whatever happens to a key in whichever order and time', () => {
  // A failure prints its seed and the shortest story that fails.
  const tellStories = async (url: string, numRuns: number) => {
    const redis = await connectRedis(url);
    await fc.assert(
      fc.asyncProperty(quotaStory, (story) => tellStory(redis, story)),
      // On a busy machine fewer are told.
      { numRuns, interruptAfterTimeLimit: 12_000 },
    );
    redis.disconnect();
  };

  test('on redis-server', { tags: ['redis-server'] }, async () => {
    await using server = await startRedisServer();
    await tellStories(server.url, 80);
  });

  test('on the Redis in JavaScript', async () => {
    const server = await startInProcessRedis(() => {});
    await tellStories(server.url, 6);
    await server.close();
  });
});
