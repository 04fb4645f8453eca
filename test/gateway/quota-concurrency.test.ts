import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyRev, createCaller } from '../../gateway/api-keys/api-key-cache.ts';
import { defaultBanPolicy, formatScriptArgument } from '../../gateway/quota/ban-policy.ts';
import { createQuotaBatch } from '../../gateway/quota/quota-batch.ts';
import { consumeQuota } from '../../gateway/quota/redis-quota.ts';
import type { RedisGate } from '../../gateway/redis/redis-gate.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { connectRedis, keyIssuer } from '../support/kits/keys.ts';
import { startGateway } from '../support/kits/service.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';

describe('requests at once', { tags: ['redis-server'] }, () => {
  const story = fc.record({
    gateways: fc.integer({ min: 1, max: 4 }),
    minute: fc.integer({ min: 1, max: 200 }),
    day: fc.integer({ min: 1, max: 200 }),
    requests: fc.integer({ min: 1, max: 250 }),
  });

  test('are admitted up to the smaller limit exactly, from however many gateways they come', async () => {
    await using server = await startRedisServer();
    const connections = await Promise.all(Array.from({ length: 4 }, () => connectRedis(server.url)));
    // Without a time limit: a machine that is busy is no outage here.
    const gate: Pick<RedisGate, 'open' | 'outages' | 'send'> = {
      open: true,
      outages: 0,
      send: (command) => command(),
    };
    const batches = connections.map((redis) => createQuotaBatch({ redis, gate }));
    let keys = 0;
    await fc.assert(
      fc.asyncProperty(story, async ({ gateways, minute, day, requests }) => {
        const keyHash = String((keys += 1)).padStart(64, '0');
        const record = { id: 'k', name: '', plan: 'p', hint: '', createdAt: '', rev: anyRev };
        const caller = createCaller(record, keyHash);
        const decisions = await Promise.all(
          Array.from({ length: requests }, (_, index) => {
            const batch = batches[index % gateways];
            if (batch === undefined) throw new Error('there are four of them');
            return consumeQuota(batch, caller, { minute, day }, formatScriptArgument(defaultBanPolicy));
          }),
        );
        const admitted = decisions.filter(({ outcome }) => outcome === 'allowed').length;
        expect(admitted).toBe(Math.min(minute, day, requests));
        // Nobody is banned for having sent them at once.
        expect(decisions.filter(({ outcome }) => outcome === 'limited')).toHaveLength(requests - admitted);
        expect(await server.redis.get(redisKeys.minute(keyHash))).toBe(String(admitted));
      }),
      { numRuns: 60 },
    );
    for (const redis of connections) redis.disconnect();
  });

  test('over HTTP, through two gateways, while the record of their key changes', async () => {
    await using server = await startRedisServer();
    await using upstream = await startUpstream();
    const env = { REDIS_URL: server.url, PETS_SERVICE_URL: upstream.url };
    await using one = await startGateway(env);
    await using other = await startGateway(env);
    const redis = await connectRedis(server.url);
    const { issue, store } = keyIssuer(redis);
    await fc.assert(
      fc.asyncProperty(story, async ({ minute, day, requests }) => {
        const { key, id } = await issue({ minute, day });
        const responses = Promise.all(
          Array.from({ length: requests }, (_, index) =>
            send(`${(index % 2 === 0 ? one : other).url}/v1/pets`, { key }),
          ),
        );
        // Raises its rev: what the gateways remember of it is old in the middle of it all.
        await store.change(id, { name: 'renamed' });
        const statuses = (await responses).map(({ status }) => status);
        const admitted = statuses.filter((status) => status === 200).length;
        expect(admitted).toBe(Math.min(minute, day, requests));
        expect(statuses.filter((status) => status === 429)).toHaveLength(requests - admitted);
      }),
      { numRuns: 5 },
    );
    redis.disconnect();
    expect(one.output() + other.output()).not.toContain('Redis is unavailable; known keys');
  });
});
