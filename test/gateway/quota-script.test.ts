import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createQuotaBatch, type QuotaArguments } from '../../gateway/quota/quota-batch.ts';
import type { RedisClient } from '../../gateway/redis/redis-client.ts';
import { RedisUnavailable, type RedisGate } from '../../gateway/redis/redis-gate.ts';
import { quotaKeys, redisKeys } from '../../gateway/redis/redis-keys.ts';
import { scriptOutcome } from '../../gateway/redis/script-outcomes.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { startAnyRedis, type RedisServer } from '../support/stores/redis-server.ts';

const shaOf = (index: number) => String(index).padStart(64, '0');
const args = (minute: number, rev = -1): QuotaArguments => [
  String(rev),
  String(minute),
  '1000',
  '10 60000 60000 3600000 86400000',
];
const asSaid = (response: readonly number[]) => response;
const { limited, allowed, stale } = scriptOutcome;

/** Redis as it is, or in JavaScript where there is none: the script has to run on both. */
describe('requests that are decided on together', () => {
  let server: RedisServer;
  let redis: RedisClient;
  /** Which is open until a test says otherwise. */
  let gate: { open: boolean; outages: number; send: RedisGate['send'] };

  beforeAll(async () => {
    server = await startAnyRedis();
    redis = await connectRedis(server.url);
  });

  afterAll(async () => {
    redis.disconnect();
    await server[Symbol.asyncDispose]();
  });

  function startScript() {
    gate = { open: true, outages: 0, send: (command) => command() };
    return createQuotaBatch({ redis, gate });
  }

  async function scriptCalls(): Promise<number> {
    const stats = await redis.info('commandstats').catch(() => '');
    const calls = (name: string) => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
    return calls('evalsha') + calls('eval');
  }

  test('each get their own decision, in the order in which they came', async () => {
    const script = startScript();
    const before = await scriptCalls();
    const responses = await Promise.all(
      Array.from({ length: 60 }, (_, index) => script.run(quotaKeys(shaOf(index % 20)), args(2), asSaid)),
    );
    // Each of the twenty keys had two requests for itself.
    expect(responses.map(([outcome]) => outcome)).toEqual([
      ...Array<number>(40).fill(allowed),
      ...Array<number>(20).fill(limited),
    ]);
    expect(responses.map(([, , minuteUsed]) => minuteUsed)).toEqual([
      ...Array<number>(20).fill(1),
      ...Array<number>(40).fill(2),
    ]);
    // Once more where Redis did not know it yet; Redis in JavaScript does not count.
    expect((await scriptCalls()) - before).toBeLessThanOrEqual(2);
  });

  test('more than fit into one command come in several', async () => {
    const script = startScript();
    const keyHash = shaOf(100);
    const responses = await Promise.all(
      Array.from({ length: 450 }, () => script.run(quotaKeys(keyHash), args(400), asSaid)),
    );
    const of = (wanted: number) => responses.filter(([outcome]) => outcome === wanted).length;
    expect({ allowed: of(allowed), limited: of(limited) }).toEqual({ allowed: 400, limited: 50 });
    expect(await redis.get(redisKeys.minute(keyHash))).toBe('400');
  });

  test('one whose record has changed, or is none, does not disturb the others', async () => {
    const script = startScript();
    await redis.hset(redisKeys.apiKey(shaOf(201)), 'rev', 7);
    await redis.set(redisKeys.apiKey(shaOf(202)), 'no hash');
    const [first, changed, broken, last] = await Promise.allSettled([
      script.run(quotaKeys(shaOf(200)), args(5), asSaid),
      script.run(quotaKeys(shaOf(201)), args(5, 6), asSaid),
      script.run(quotaKeys(shaOf(202)), args(5, 1), asSaid),
      script.run(quotaKeys(shaOf(203)), args(5), asSaid),
    ]);
    expect([first, last].map((one) => one.status === 'fulfilled' && one.value[0])).toEqual([
      allowed,
      allowed,
    ]);
    expect(changed).toMatchObject({ value: [stale] });
    expect(broken).toMatchObject({ reason: { name: 'ReplyError' } });
    expect(String(broken.status === 'rejected' && broken.reason)).toContain('WRONGTYPE');
  });

  test('those that still wait when Redis is given up on are not counted later', async () => {
    const script = startScript();
    const keyHash = shaOf(300);
    const underWay = [];
    for (let command = 0; command < 4; command += 1) {
      underWay.push(script.run(quotaKeys(keyHash), args(8), asSaid));
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    const waiting = script.run(quotaKeys(keyHash), args(8), asSaid);
    // Open again by the time that they are answered.
    gate.outages += 1;
    const [decided] = await Promise.all([
      Promise.all(underWay),
      expect(waiting).rejects.toThrow(RedisUnavailable),
    ]);
    expect(decided.map(([outcome]) => outcome)).toEqual([allowed, allowed, allowed, allowed]);
    expect((await script.run(quotaKeys(keyHash), args(8), asSaid))[2]).toBe(5);
  });
});
