import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyRev, createCaller } from '../../gateway/api-keys/api-key-cache.ts';
import { consumeQuota } from '../../gateway/quota/redis-quota.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { connectRedis, keyIssuer } from '../support/kits/keys.ts';
import { createOpenBatch } from '../support/kits/quota-batch.ts';
import { startGateway } from '../support/kits/service.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';

describe('concurrent requests', { tags: ['redis-server'] }, () => {
  const scenario = fc.record({
    gateways: fc.integer({ min: 1, max: 4 }),
    minute: fc.integer({ min: 1, max: 200 }),
    day: fc.integer({ min: 1, max: 200 }),
    requests: fc.integer({ min: 1, max: 250 }),
  });

  test('are allowed up to exactly the smaller limit, through any number of gateways', async () => {
    await using server = await startRedisServer();
    const connections = await Promise.all(Array.from({ length: 4 }, () => connectRedis(server.url)));
    const batches = connections.map((redis) => createOpenBatch(redis));
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
    for (const redis of connections) redis.disconnect();
  });

  test('are allowed up to exactly the limit over HTTP through two gateways, while the record of their key changes', async () => {
    await using server = await startRedisServer();
    await using upstream = await startUpstream();
    const env = { REDIS_URL: server.url, PETS_SERVICE_URL: upstream.url };
    await using first = await startGateway(env);
    await using second = await startGateway(env);
    const redis = await connectRedis(server.url);
    const { issue, store } = keyIssuer(redis);
    await fc.assert(
      fc.asyncProperty(scenario, async ({ minute, day, requests }) => {
        const { key, id } = await issue({ minute, day });
        const responses = Promise.all(
          Array.from({ length: requests }, (_, index) =>
            send(`${(index % 2 === 0 ? first : second).url}/v1/pets`, { key }),
          ),
        );
        // Raises the rev, so that the cached records become stale during the requests.
        await store.change(id, { name: 'renamed' });
        const statuses = (await responses).map(({ status }) => status);
        const allowed = statuses.filter((status) => status === 200).length;
        expect(allowed).toBe(Math.min(minute, day, requests));
        expect(statuses.filter((status) => status === 429)).toHaveLength(requests - allowed);
      }),
      { numRuns: 5 },
    );
    redis.disconnect();
    expect(first.output() + second.output()).not.toContain('Redis is unavailable; known keys');
  });
});
