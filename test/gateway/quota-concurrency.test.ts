import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyRev, createCaller } from '../../gateway/keys/api-key-cache.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { consumeQuota } from '../../gateway/quota/redis-quota.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { createOpenBatch } from '../support/kits/quota-batch.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';

describe('concurrent requests', { tags: ['redis-server'] }, () => {
  const scenario = fc.record({
    gateways: fc.integer({ min: 1, max: 4 }),
    minute: fc.integer({ min: 1, max: 200 }),
    day: fc.integer({ min: 1, max: 200 }),
    requests: fc.integer({ min: 1, max: 250 }),
  });

  test('are allowed up to exactly the smaller limit, through any number of gateways', async () => {
    await using server = await startRedisServer();
    await using stack = new AsyncDisposableStack();
    const connections = await Promise.all(Array.from({ length: 4 }, () => connectRedis(server.url)));
    const batches = connections.map((redis) => createOpenBatch(stack.use(redis)));
    let keys = 0;
    await fc.assert(
      fc.asyncProperty(scenario, async ({ gateways, minute, day, requests }) => {
        const keyHash = String((keys += 1)).padStart(64, '0');
        const customerId = `cus_${keys}` as const;
        const record = { id: 'k', customerId, name: '', plan: 'p', hint: '', createdAt: '', rev: anyRev };
        const caller = createCaller(record, keyHash);
        const decisions = await Promise.all(
          Array.from({ length: requests }, (_, index) => {
            const batch = batches[index % gateways];
            if (batch === undefined) throw new Error('no batch for this gateway');
            return consumeQuota(batch, { caller, limits: { minute, day } });
          }),
        );
        const allowed = decisions.filter(({ outcome }) => outcome === 'allowed').length;
        expect(allowed).toBe(Math.min(minute, day, requests));
        // A burst does not lead to a ban.
        expect(decisions.filter(({ outcome }) => outcome === 'limited')).toHaveLength(requests - allowed);
        expect(await server.redis.get(redisKeys.openWindow(customerId, 'minute'))).toBe(String(allowed));
      }),
      { numRuns: 60 },
    );
  });
});
