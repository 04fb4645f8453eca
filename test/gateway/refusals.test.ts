import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dayNumberOf } from '../../gateway/limits/utc-day.ts';
import { readRefusals } from '../../gateway/quota/refusals.ts';
import type { RedisClient } from '../../gateway/redis/redis-client.ts';
import { redisKeys, type CustomerId } from '../../gateway/redis/redis-keys.ts';
import { startGatewayFleet, type GatewayFleet } from '../support/kits/gateway-fleet.ts';
import { startRedisKit, type IssuedKey } from '../support/kits/keys.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

let url: string;
let redis: RedisClient;

beforeAll(async () => {
  const kit = await startRedisKit();
  ({ redis, url } = kit);
  return () => kit[Symbol.asyncDispose]();
});

const read = (customerId: CustomerId) => readRefusals({ redis, now: Date.now }, customerId);

describe('the last refusals of a key', () => {
  let fleet: GatewayFleet;

  beforeAll(async () => {
    fleet = await startGatewayFleet(url, 2);
  });

  afterAll(() => fleet[Symbol.asyncDispose]());

  /** Sends requests in turn to both gateways. @returns the number of refused ones */
  async function send({ key }: IssuedKey, requests: number): Promise<number> {
    let refused = 0;
    for (let turn = 0; turn < requests; turn += 1) {
      if ((await fleet.pets(key, turn)).status === 429) refused += 1;
    }
    return refused;
  }

  test('have the requests that both gateways refused: number, interval and reason', async () => {
    const byMinute = await fleet.issue({ minute: 3, day: 1000 });
    const byDay = await fleet.issue({ minute: 1000, day: 3 });
    const banned = await fleet.issue();
    const served = await fleet.issue();
    await redis.set(redisKeys.ban(banned), 'too many downloads', 'EX', 600);
    const startedAt = Date.now();
    expect(await send(byMinute, 13)).toBe(10);
    expect(await send(byDay, 10)).toBe(7);
    // After the first one of each gateway, these are refused from the memory of the process.
    expect(await send(banned, 20)).toBe(20);
    expect(await send(served, 2)).toBe(0);
    const endedAt = Date.now();
    const expected = [
      [byMinute, 10, 'minute'],
      [byDay, 7, 'day'],
      [banned, 20, 'ban'],
    ] as const;
    for (const [{ customerId }, refused, reason] of expected) {
      await expect.poll(() => read(customerId), { timeout: 15_000 }).toMatchObject([{ refused, reason }]);
      const [run] = await read(customerId);
      expect(Date.parse(run?.from ?? '')).toBeGreaterThanOrEqual(startedAt - 5);
      expect(Date.parse(run?.to ?? '')).toBeGreaterThan(Date.parse(run?.from ?? ''));
      expect(Date.parse(run?.to ?? '')).toBeLessThanOrEqual(endedAt + 5);
    }
    expect(await read(served.customerId)).toEqual([]);
    expect(await redis.exists(redisKeys.refusals(served.customerId))).toBe(0);
  });
});

describe('reports of refusals', () => {
  /** A customer whose refusals processes report. */
  function reportedKey() {
    const customerId = `cus_${randomBytes(9).toString('hex')}` as const;
    let number = 0;
    const nowMs = Date.now();
    return {
      customerId,
      nowMs,
      /** @param fromMs before now */
      async report(fromMs: number, toMs: number, refused: number, reason: string, process = 'one') {
        number += 1;
        const run = `${nowMs - fromMs} ${nowMs - toMs} ${refused} ${reason}\n`;
        const keys = [redisKeys.dayReport(customerId, process), redisKeys.dayPrefix(customerId)] as const;
        const args = [number, dayNumberOf(nowMs), 0, refused, 400, run];
        expect(await redis.addUsage(...keys, ...args)).toBe(1);
        return () => redis.addUsage(...keys, ...args);
      },
      ago: (text: string) => nowMs - Date.parse(text),
    };
  }

  async function agesOf({ customerId, ago }: ReturnType<typeof reportedKey>) {
    const runs = await read(customerId);
    return runs.map(({ from, to, refused, reason }) => [ago(from), ago(to), refused, reason]);
  }

  test('are joined to runs of one reason, whichever process they are from and whenever they arrive', async () => {
    const key = reportedKey();
    await key.report(10 * minute, 10 * minute, 5, 'minute');
    await key.report(9 * minute, 8 * minute, 7, 'minute', 'two');
    await key.report(8 * minute, 7 * minute, 2, 'day');
    await key.report(12 * minute, 11 * minute, 1, 'minute', 'three');
    await key.report(minute, 0, 3, 'minute');
    expect(await agesOf(key)).toEqual([
      [minute, 0, 3, 'minute'],
      [8 * minute, 7 * minute, 2, 'day'],
      [12 * minute, 8 * minute, 13, 'minute'],
    ]);
  });

  test('are counted once, also if one is sent again', async () => {
    const key = reportedKey();
    const again = await key.report(second, 0, 5, 'ban');
    expect(await again()).toBe(0);
    expect(await agesOf(key)).toEqual([[second, 0, 5, 'ban']]);
  });

  test('replace a value that was edited by hand into something else', async () => {
    const [listed, garbled] = [reportedKey(), reportedKey()];
    await redis.rpush(redisKeys.refusals(listed.customerId), 'a list');
    await redis.set(
      redisKeys.refusals(garbled.customerId),
      'yesterday 3 minute\n-5 1e3 inf day\n5 6 7 hour\n',
    );
    for (const key of [listed, garbled]) {
      expect(await read(key.customerId)).toEqual([]);
      await key.report(second, 0, 3, 'day');
      expect(await agesOf(key)).toEqual([[second, 0, 3, 'day']]);
    }
  });

  test('keep every request, the newest run first and none over an hour, in any order of arrival', async () => {
    const aReport = fc.record({
      age: fc.integer({ min: 0, max: 40 }).map((steps) => steps * 3 * minute),
      length: fc.integer({ min: 0, max: 10 * minute }),
      refused: fc.integer({ min: 1, max: 1000 }),
      reason: fc.constantFrom('minute', 'day', 'ban'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(aReport, { minLength: 1, maxLength: 45 }), async (reports) => {
        const key = reportedKey();
        for (const { age, length, refused, reason } of reports) {
          await key.report(age + length, age, refused, reason);
        }
        const runs = await read(key.customerId);
        for (const reason of ['minute', 'day', 'ban']) {
          const [counted, sent] = [runs, reports].map((list: { refused: number; reason: string }[]) =>
            list.reduce((sum, item) => sum + (item.reason === reason ? item.refused : 0), 0),
          );
          expect(counted).toBe(sent);
        }
        const ends = runs.map(({ to }) => Date.parse(to));
        expect(ends).toEqual(ends.toSorted((one, other) => other - one));
        for (const { from, to } of runs) expect(Date.parse(to) - Date.parse(from)).toBeLessThanOrEqual(hour);
        expect(Math.max(...ends)).toBe(key.nowMs - Math.min(...reports.map(({ age }) => age)));
      }),
      { numRuns: 25 },
    );
  });

  test('make a new run after an hour, so that hours can be told apart', async () => {
    const key = reportedKey();
    for (let age = 180; age >= 0; age -= 1) await key.report(age * minute, age * minute, 1, 'minute');
    expect(await agesOf(key)).toEqual([
      [58 * minute, 0, 59, 'minute'],
      [119 * minute, 59 * minute, 61, 'minute'],
      [180 * minute, 120 * minute, 61, 'minute'],
    ]);
  });

  test('of which the newest 50 runs of seven days are kept, in less than 3 kB', async () => {
    const key = reportedKey();
    for (let age = 60; age > 0; age -= 1) await key.report(age * hour, age * hour, 1_000_000, 'minute');
    const runs = await read(key.customerId);
    expect(runs).toHaveLength(50);
    expect(runs.map(({ to }) => key.ago(to) / hour)).toEqual(Array.from({ length: 50 }, (_, age) => age + 1));
    const stored = redisKeys.refusals(key.customerId);
    expect(await redis.strlen(stored)).toBeLessThan(3000);
    const expiry = await redis.ttl(stored);
    expect(expiry).toBeGreaterThan(7 * 86_400 - 60);
    expect(expiry).toBeLessThanOrEqual(7 * 86_400);
  });

  test('are not shown after seven days, also if later ones keep the record', async () => {
    const key = reportedKey();
    await key.report(169 * hour, 168.5 * hour, 4, 'day');
    await key.report(168 * hour, 167 * hour, 3, 'day');
    await key.report(minute, 0, 2, 'day');
    expect(await agesOf(key)).toEqual([
      [minute, 0, 2, 'day'],
      [168 * hour, 167 * hour, 3, 'day'],
    ]);
  });
});
