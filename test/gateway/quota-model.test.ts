import fc from 'fast-check';
import { describe, test } from 'vitest';
import { startInProcessRedis } from '../../gateway/platform/redis/embedded/embedded-redis.ts';
import { quotaScenario, runQuotaScenario } from '../support/checks/quota-run.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';

describe('the quota script decides like its model in random scenarios', () => {
  // A failure prints its seed and the shortest failing scenario.
  const runScenarios = async (url: string, numRuns: number) => {
    using redis = await connectRedis(url);
    await fc.assert(
      fc.asyncProperty(quotaScenario, (scenario) => runQuotaScenario(redis, scenario)),
      // A busy machine runs fewer.
      { numRuns, interruptAfterTimeLimit: 12_000 },
    );
  };

  test('on redis-server', { tags: ['redis-server'] }, async () => {
    await using server = await startRedisServer();
    await runScenarios(server.url, 80);
  });

  test('on the embedded Redis', async () => {
    const server = await startInProcessRedis('hunter2');
    await runScenarios(server.url, 6);
    await server.close();
  });
});
