import fc from 'fast-check';
import { expect, test } from 'vitest';
import { quotaScenario, runQuotaScenario } from '../support/checks/quota-run.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';

/** Fewer for test/mutations, which needs no shortest failing scenario either. */
const scenarios = process.env['MODEL_SCENARIOS'];
const extent =
  scenarios === undefined
    ? { numRuns: 1500, interruptAfterTimeLimit: 85_000 }
    : { numRuns: Number(scenarios), endOnFailure: true };
const atLeast = scenarios === undefined ? 100 : Number(scenarios) - 1;

test(
  'the quota script decides like its model in up to 1,500 random scenarios',
  { tags: ['redis-server'], timeout: 180_000 },
  async () => {
    await using server = await startRedisServer();
    using redis = await connectRedis(server.url);
    let completed = 0;
    await fc.assert(
      fc.asyncProperty(quotaScenario, async (scenario) => {
        await runQuotaScenario(redis, scenario);
        completed += 1;
      }),
      extent,
    );
    expect(completed).toBeGreaterThan(atLeast);
  },
);
