import { describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import type { QuotaDecision } from '../../gateway/quota/quota-decision.ts';
import { startGatewayFleet } from '../support/kits/gateway-fleet.ts';
import { startRedisClient } from '../support/kits/keys.ts';
import { shared } from '../support/kits/shared.ts';
import { createSimulatedKey } from '../support/kits/simulated-key.ts';

/** Runs on redis-server, or on the embedded Redis if that is not installed: the scripts have to work on both. */
describe('windows', () => {
  const redis = shared(startRedisClient);

  const refusal = (decision: QuotaDecision) =>
    decision.outcome === 'limited'
      ? [decision.violated, decision.windows[decision.violated]?.resetMs]
      : decision.outcome;

  test('of an hour begin with the first request, and those of a month are UTC months', async () => {
    const key = await createSimulatedKey(redis);
    const limits = { hour: 3, month: 5 };
    const ask = async () => refusal(await key.decide(limits));
    await key.at('2026-11-30T21:10:00.000Z');
    expect([await ask(), await ask(), await ask()]).toEqual(['allowed', 'allowed', 'allowed']);
    await key.at('2026-11-30T21:20:00.000Z');
    // Redis lets the window expire by the real time.
    expect(await ask()).toEqual(['hour', expect.closeTo(3_600_000, -5)]);
    await redis.del(redisKeys.openWindow(key.customerId, 'hour'));
    await key.at('2026-11-30T22:10:00.000Z');
    expect([await ask(), await ask()]).toEqual(['allowed', 'allowed']);
    expect(await ask()).toEqual(['month', 6_600_000]);
    await key.at('2026-12-01T00:00:00.000Z');
    expect(await ask()).toBe('allowed');
  });

  test('of a month begin with what the record of use has, also of requests that are reported later', async () => {
    const key = await createSimulatedKey(redis);
    await key.at('2026-11-29T12:00:00.000Z');
    await key.serve(10);
    await key.at('2026-11-30T12:00:00.000Z');
    await key.serve(2);
    const ask = async () => refusal(await key.decide({ month: 14 }));
    expect(await ask()).toBe('allowed');
    await key.report({ served: 1, daysAgo: 1 });
    expect(await ask()).toEqual(['month', 43_200_000]);
    expect(refusal(await key.decide({ month: 15 }))).toBe('allowed');
  });

  test('of a month count what a day had before it was set back', async () => {
    const key = await createSimulatedKey(redis);
    await key.at('2026-11-20T12:00:00Z');
    const ask = async () => refusal(await key.decide({ day: 3, month: 5 }));
    for (let request = 0; request < 3; request += 1) expect(await ask()).toBe('allowed');
    expect(await ask()).toEqual(['day', 43_200_000]);
    await key.resetDay();
    expect([await ask(), await ask()]).toEqual(['allowed', 'allowed']);
    expect(await ask()).toEqual(['month', 10 * 86_400_000 + 43_200_000]);
    await key.at('2026-11-21T12:00:00Z');
    expect(await ask()).toEqual(['month', 9 * 86_400_000 + 43_200_000]);
  });

  test('of an hour and a month alone lead to bans as others do, which last on after the key was served', async () => {
    const key = await createSimulatedKey(redis);
    const [noon, limits] = [Date.parse('2026-11-20T12:00:00Z'), { hour: 5, month: 100 }];
    await key.at(noon);
    const outcomes = [];
    for (let request = 0; request < 6; request += 1) outcomes.push((await key.decide(limits)).outcome);
    expect(outcomes).toEqual([...Array<string>(5).fill('allowed'), 'limited']);
    await key.at(noon + 11_000);
    for (let strikesLeft = 59; strikesLeft > 0; strikesLeft -= 1)
      expect(await key.decide(limits)).toMatchObject({ outcome: 'limited', strikesLeft });
    expect(await key.decide(limits)).toMatchObject({ outcome: 'banned', limits, remainingMs: 60_000 });
  });

  test('that a plan is given by hand are enforced within a second, named in headers, and removed again', async () => {
    await using fleet = await startGatewayFleet(redis.url, 1);
    const { key } = await fleet.issue({ plan: 'pro' });
    const usual = '"minute";q=300;w=60, "day";q=10000;w=86400';
    const shown = async () => (await fleet.pets(key)).headers['ratelimit-policy'];
    expect(await shown()).toBe(usual);
    await redis.hset(redisKeys.plan('pro'), { hour: 3, month: 100 });
    await expect.poll(shown, { interval: 600 }).toContain('"hour";q=3;w=3600');
    const requests = [];
    for (let request = 0; request < 4; request += 1) requests.push(await fleet.pets(key));
    const last = requests.at(-1);
    expect(last).toMatchObject({
      status: 429,
      json: { message: expect.stringContaining('The limit of 3 requests an hour is used up.') },
      headers: { 'x-ratelimit-limit': '3', 'x-ratelimit-remaining': '0' },
    });
    expect(Number(last?.headers['retry-after'])).toBeGreaterThan(3590);
    expect(last?.headers['ratelimit']).toMatch(
      /^"minute";r=\d+;t=\d+, "hour";r=0;t=\d+, "day";r=\d+;t=\d+, "month";r=\d+;t=\d+$/,
    );
    await redis.hdel(redisKeys.plan('pro'), 'hour', 'month');
    await expect.poll(async () => (await fleet.pets(key)).status, { interval: 600 }).toBe(200);
    expect(await shown()).toBe(usual);
  });
});
