import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dayMs, utcDate } from '../../gateway/limits/windows.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { readUsageDays } from '../../gateway/quota/usage.ts';
import { startRedisClient } from '../support/kits/keys.ts';
import { shared } from '../support/kits/shared.ts';
import { createSimulatedKey } from '../support/kits/simulated-key.ts';

/** Runs on redis-server, or on the embedded Redis if that is not installed: the scripts have to work on both. */
describe('the record of the use of a key', () => {
  const redis = shared(startRedisClient);

  /** Expiry of a Redis key in Unix seconds; EXPIRETIME is newer than Redis 6. */
  const expiresAt = async (key: string) => Math.round((Date.now() + (await redis.pttl(key))) / 1000);

  test('has each day, also after a change of the month and of the year', async () => {
    const key = await createSimulatedKey(redis);
    const { customerId } = key;
    await key.at('2026-11-29T23:59:59.999Z');
    await key.serve(3);
    await key.at('2026-11-30T00:00:00.000Z');
    await key.serve(2);
    await redis.hset(redisKeys.customer(customerId), { plan: 'pro' });
    await key.at('2026-12-01T12:00:00Z');
    await key.serve(4);
    await key.at('2026-12-31T12:00:00Z');
    await key.serve(1);
    await redis.hset(redisKeys.customer(customerId), { plan: 'free' });
    await key.at('2027-01-01T00:00:00Z');
    await key.serve(5);
    const none = { refused: 0 };
    const days = await key.days('2026-11-28', '2026-12-02');
    expect([...days, ...(await key.days('2026-12-31', '2027-01-02'))]).toEqual([
      { date: '2026-11-28', plan: null, served: 0, ...none },
      { date: '2026-11-29', plan: 'free', served: 3, ...none },
      { date: '2026-11-30', plan: 'free', served: 2, ...none },
      { date: '2026-12-01', plan: 'pro', served: 4, ...none },
      { date: '2026-12-02', plan: null, served: 0, ...none },
      { date: '2026-12-31', plan: 'pro', served: 1, ...none },
      { date: '2027-01-01', plan: 'free', served: 5, ...none },
      { date: '2027-01-02', plan: null, served: 0, ...none },
    ]);
    const month = await redis.hgetall(redisKeys.usageMonth(customerId, '202612'));
    expect(month).toEqual({ name: 'ACME', plan: 'pro', p01: 'pro', '01': '4', '31': '1', sum: '5' });
  });

  test('keeps what was served before a day was set back, whose limit counts from 0 again', async () => {
    const key = await createSimulatedKey(redis, 3);
    await key.at('2026-11-05T12:00:00Z');
    expect(await key.resetDay()).toBe(0);
    expect(await key.serve(4)).toEqual(['allowed', 'allowed', 'allowed', 'limited']);
    expect(await key.resetDay()).toBe(3);
    expect(await key.resetDay()).toBe(0);
    expect(await key.days('2026-11-05', '2026-11-05')).toMatchObject([{ served: 3, plan: 'free' }]);
    expect(await key.serve(4)).toEqual(['allowed', 'allowed', 'allowed', 'limited']);
    expect(await key.resetDay()).toBe(3);
    expect(await key.serve(1)).toEqual(['allowed']);
    expect(await key.days('2026-11-05', '2026-11-05')).toMatchObject([{ served: 7, plan: 'free' }]);
    await key.at('2026-11-06T12:00:00Z');
    expect(await key.serve(1)).toEqual(['allowed']);
    expect(await key.days('2026-11-05', '2026-11-06')).toMatchObject([{ served: 7 }, { served: 1 }]);
    await key.resetDay();
    await key.serve(1);
    const counts = { '05': '7', '06': '2', sum: '9', g05: '6', g06: '1' };
    const month = await redis.hgetall(redisKeys.usageMonth(key.customerId, '202611'));
    expect(month).toEqual({ name: 'ACME', plan: 'free', p05: 'free', ...counts });
  });

  test('has the right dates beyond a century without a leap day', async () => {
    const key = await createSimulatedKey(redis);
    await key.at('2100-02-28T12:00:00Z');
    await key.serve(1);
    await key.at('2100-03-01T12:00:00Z');
    await key.serve(2);
    expect(await key.days('2100-02-28', '2100-03-01')).toMatchObject([{ served: 1 }, { served: 2 }]);
    expect(await key.days('2100-03-02', '2100-03-01')).toEqual([]);
  });

  test('of a day on which Redis had lost the key has its id and plan from the next day on', async () => {
    const key = await createSimulatedKey(redis);
    const record = redisKeys.customer(key.customerId);
    const fields = await redis.hgetall(record);
    await redis.del(record);
    await key.at('2026-11-25T12:00:00Z');
    await key.report({ served: 3, refused: 2 });
    await redis.hset(record, fields);
    const use = (served: number, plan: string | null) => [{ served, refused: 2, plan }];
    expect(await key.days('2026-11-25', '2026-11-25')).toMatchObject(use(3, null));
    await key.serve(2);
    await key.at('2026-11-26T12:00:00Z');
    await key.serve(1);
    expect(await key.days('2026-11-25', '2026-11-25')).toMatchObject(use(5, 'free'));
    const month = redisKeys.usageMonth(key.customerId, '202611');
    expect(await redis.hgetall(month)).toMatchObject({ name: 'ACME', p26: 'free' });
  });

  test('texts in place of numbers harm no request', async () => {
    const key = await createSimulatedKey(redis);
    const month = redisKeys.usageMonth(key.customerId, '202611');
    await key.at('2026-11-24T12:00:00Z');
    expect(await key.serve(2)).toEqual(['allowed', 'allowed']);
    await redis.hset(month, { sum: '-3', r24: 'many' });
    await key.at('2026-11-25T12:00:00Z');
    await key.report({ refused: 2, daysAgo: 1 });
    expect(await key.serve(1)).toEqual(['allowed']);
    expect(await key.days('2026-11-24', '2026-11-25')).toMatchObject([
      { served: 2, refused: 2 },
      { served: 1, refused: 0 },
    ]);
  });

  test('a full month stays a listpack', { tags: ['redis-server'] }, async () => {
    const key = await createSimulatedKey(redis);
    for (let day = 1; day <= 31; day += 1) {
      await redis.hset(redisKeys.customer(key.customerId), 'plan', `plan-${day}`);
      await key.at(`2026-12-${String(day).padStart(2, '0')}T10:00:00Z`);
      await key.serve(1);
      await key.report({ refused: 123_456_789 });
    }
    const month = redisKeys.usageMonth(key.customerId, '202612');
    expect(await redis.hlen(month)).toBe(96);
    expect(await redis.object('ENCODING', month)).toBe('listpack');
  });

  test('expires after the retention, and older days are shown as unused', async () => {
    const key = await createSimulatedKey(redis);
    const today = Math.floor(Date.now() / dayMs);
    await key.at(today * dayMs);
    await key.serve(1);
    const spread = Number.parseInt(key.keyHash.slice(0, 4), 16);
    const date = utcDate(today);
    const month = redisKeys.usageMonth(key.customerId, date.slice(0, 6));
    const monthEnd = (today - Number(date.slice(6)) + 32 + 400) * 86_400 + spread;
    expect(Math.abs((await expiresAt(month)) - monthEnd)).toBeLessThanOrEqual(2);
    const old = redisKeys.usageMonth(key.customerId, '202001');
    await redis.hset(old, { '05': 9 });
    const day = Date.parse('2020-01-05') / dayMs;
    const from = (oldest: number) => readUsageDays(redis, key.customerId, { first: day, last: day, oldest });
    expect(await from(day)).toMatchObject([{ served: 9 }]);
    expect(await from(day + 1)).toMatchObject([{ served: 0, plan: null }]);
  });

  test('is exact in random scenarios', async () => {
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.record({ serve: fc.integer({ min: 1, max: 4 }) }) },
      { weight: 4, arbitrary: fc.record({ days: fc.constantFrom(1, 1, 1, 2, 20, 31, 62) }) },
      { weight: 1, arbitrary: fc.record({ days: fc.constantFrom(-1, -2, -31) }) },
      { weight: 3, arbitrary: fc.record({ daysAgo: fc.nat(3), served: fc.nat(9), refused: fc.nat(9) }) },
    );
    const start = Math.floor(Date.now() / dayMs);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 25, size: 'max' }), async (steps) => {
        const key = await createSimulatedKey(redis);
        const model = new Map<number, { served: number; refused: number }>();
        const add = (day: number, served: number, refused: number) => {
          const use = model.get(day) ?? { served: 0, refused: 0 };
          model.set(day, { served: use.served + served, refused: use.refused + refused });
        };
        let day = start;
        await key.at(day * dayMs);
        for (const one of steps) {
          if ('serve' in one) {
            await key.serve(one.serve);
            add(day, one.serve, 0);
          } else if ('days' in one) {
            day += one.days;
            await key.at(day * dayMs + 1000);
          } else {
            await key.report(one);
            add(day - one.daysAgo, one.served, one.refused);
          }
          for (const [used, expected] of model) {
            const range = { first: used, last: used, oldest: 0 };
            expect(await readUsageDays(redis, key.customerId, range)).toMatchObject([expected]);
          }
        }
      }),
      { numRuns: 40, interruptAfterTimeLimit: 10_000 },
    );
  });
});
