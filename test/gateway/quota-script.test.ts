import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { windowNames } from '../../gateway/limits/windows.ts';
import { RedisUnavailable, type RedisGate } from '../../gateway/platform/redis/redis-gate.ts';
import { quotaKeys, redisKeys, type KeyPlace } from '../../gateway/platform/redis/redis-keys.ts';
import { scriptOutcome } from '../../gateway/platform/redis/scripts.ts';
import { defaultBanPolicy } from '../../gateway/quota/policies.ts';
import { createQuotaBatch, formatPolicies } from '../../gateway/quota/redis-quota.ts';
import { startRedisClient } from '../support/kits/keys.ts';
import { createOpenBatch } from '../support/kits/quota-batch.ts';
import { shared } from '../support/kits/shared.ts';

const placeOf = (index: number): KeyPlace => ({
  customerId: `cus_${index}`,
  keyHash: String(index).padStart(64, '0'),
});
const args = (minute: number, rev = -1): string[] => {
  const limits: Partial<Record<string, number>> = { minute, day: 1000 };
  return [String(rev), '', ...windowNames.map((name) => String(limits[name] ?? ''))];
};
const identity = (reply: readonly number[]) => reply;
const { limited, allowed, banned, stale } = scriptOutcome;

/** Runs on redis-server, or on the embedded Redis if that is not installed: the script has to work on both. */
describe('a batch of requests', () => {
  let gate: { open: boolean; send: RedisGate['send'] };

  const redis = shared(startRedisClient);

  function startScript() {
    gate = { open: true, send: (command) => command() };
    return createQuotaBatch({ redis, gate, policies: () => formatPolicies(defaultBanPolicy) });
  }

  async function scriptCalls(): Promise<number> {
    const stats = await redis.info('commandstats').catch(() => '');
    const calls = (name: string) => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
    return calls('evalsha') + calls('eval');
  }

  test('gets a decision for each request, in order of arrival', async () => {
    const script = startScript();
    const before = await scriptCalls();
    const replies = await Promise.all(
      Array.from({ length: 60 }, (_, index) => script.run(quotaKeys(placeOf(index % 20)), args(2), identity)),
    );
    // Each of the 20 keys has a limit of 2 requests.
    expect(replies.map(([outcome]) => outcome)).toEqual([
      ...Array<number>(40).fill(allowed),
      ...Array<number>(20).fill(limited),
    ]);
    expect(replies.map(([, , , minuteUsed]) => minuteUsed)).toEqual([
      ...Array<number>(20).fill(1),
      ...Array<number>(40).fill(2),
    ]);
    // One more if Redis has not loaded the script yet. The embedded Redis has no command statistics.
    expect((await scriptCalls()) - before).toBeLessThanOrEqual(2);
  });

  test('has the end of a ban as it was set, in the reply that led to it and in those during it', async () => {
    const harsh = { ...defaultBanPolicy, graceSeconds: 0, strikes: 1, strikesPerLimit: 0 };
    const script = createOpenBatch(redis, harsh);
    const decide = () => script.run(quotaKeys(placeOf(500)), args(1), identity);
    let reply = await decide();
    // A refusal in the millisecond of the first one is no strike yet.
    while (reply[0] !== banned) reply = await decide();
    const [, nowMs = 0, banMs = 0, isNew, , endMs] = reply;
    expect({ isNew, endMs }).toEqual({ isNew: 1, endMs: nowMs + banMs });
    const [, , , isNewAgain, , endMsAgain] = await decide();
    expect({ isNewAgain, endMsAgain }).toEqual({ isNewAgain: 0, endMsAgain: endMs });
  });

  test('is split if it does not fit into one command', async () => {
    const script = startScript();
    const place = placeOf(100);
    const replies = await Promise.all(
      Array.from({ length: 450 }, () => script.run(quotaKeys(place), args(400), identity)),
    );
    const count = (wanted: number) => replies.filter(([outcome]) => outcome === wanted).length;
    expect({ allowed: count(allowed), limited: count(limited) }).toEqual({ allowed: 400, limited: 50 });
    expect(await redis.get(redisKeys.openWindow(place.customerId, 'minute'))).toBe('400');
  });

  test('is not affected by a request whose record has changed or has the wrong type', async () => {
    const script = startScript();
    await redis.hset(redisKeys.customer(placeOf(201).customerId), 'rev', 7);
    await redis.set(redisKeys.customer(placeOf(202).customerId), 'no hash');
    const [first, changed, broken, last] = await Promise.allSettled([
      script.run(quotaKeys(placeOf(200)), args(5), identity),
      script.run(quotaKeys(placeOf(201)), args(5, 6), identity),
      script.run(quotaKeys(placeOf(202)), args(5, 1), identity),
      script.run(quotaKeys(placeOf(203)), args(5), identity),
    ]);
    for (const result of [first, last])
      expect(result.status === 'fulfilled' && result.value[0]).toBe(allowed);
    expect(changed).toMatchObject({ value: [stale] });
    expect(broken).toMatchObject({ reason: { name: 'UnexpectedValue' } });
    expect(String(broken.status === 'rejected' && broken.reason)).toContain('gw:*{cus_202}* holds');
  });

  test('fails as a whole with an error about the server', { tags: ['redis-server'] }, async () => {
    const script = startScript();
    const [, limit] = (await redis.config('GET', 'maxmemory')) as [string, string];
    await redis.config('SET', 'maxmemory', 1);
    try {
      await expect(script.run(quotaKeys(placeOf(204)), args(5), identity)).rejects.toThrow(/^OOM/);
    } finally {
      await redis.config('SET', 'maxmemory', limit);
    }
  });

  test('is rejected and not counted later if an outage begins before it is sent', async () => {
    const script = startScript();
    const place = placeOf(300);
    const inFlight = [];
    for (let command = 0; command < 4; command += 1) {
      inFlight.push(script.run(quotaKeys(place), args(8), identity));
      await nextTurn();
    }
    const waiting = script.run(quotaKeys(place), args(8), identity);
    gate.open = false;
    const [decisions] = await Promise.all([
      Promise.all(inFlight),
      expect(waiting).rejects.toThrow(RedisUnavailable),
    ]);
    expect(decisions.map(([outcome]) => outcome)).toEqual([allowed, allowed, allowed, allowed]);
    gate.open = true;
    expect((await script.run(quotaKeys(place), args(8), identity))[3]).toBe(5);
  });
});
