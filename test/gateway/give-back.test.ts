import { describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { startRedisClient } from '../support/kits/keys.ts';
import { shared } from '../support/kits/shared.ts';
import { createSimulatedKey } from '../support/kits/simulated-key.ts';

/** What a failure of the gateway gives back, at times that the test sets. */
describe('a request that is given back', () => {
  const redis = shared(startRedisClient);

  const noon = Date.parse('2026-11-24T12:00:00Z');
  const limits = { minute: 10, hour: 20, day: 30, month: 40 };
  const remaining = (decision: unknown) => {
    const { windows } = decision as { windows: Record<string, { remaining: number }> };
    return Object.fromEntries(Object.entries(windows).map(([name, state]) => [name, state.remaining]));
  };
  const start = async () => {
    const key = await createSimulatedKey(redis);
    await key.at(noon);
    return key;
  };
  const day = (date = '2026-11-24') => [date, date] as const;

  test('is as if it had not been made, in each window and in the record of use', async () => {
    const key = await start();
    await key.decide(limits);
    const decision = await key.decide(limits, 5);
    expect(remaining(decision)).toEqual({ minute: 4, hour: 14, day: 24, month: 34 });
    expect(await key.days(...day())).toMatchObject([{ served: 2, units: 6 }]);
    const current = await key.giveBack(decision, limits, 5);
    expect(remaining(current)).toEqual({ minute: 9, hour: 19, day: 29, month: 39 });
    expect(await key.days(...day())).toMatchObject([{ served: 1 }]);
    expect(remaining(await key.decide(limits))).toEqual({ minute: 8, hour: 18, day: 28, month: 38 });
    await key.at('2026-11-25T00:00:00Z');
    await key.serve(1);
    expect(await key.days(...day())).toMatchObject([{ served: 2 }]);
  });

  test('the only request of its windows leaves them open, to the end that was announced', async () => {
    const key = await start();
    const decision = await key.decide(limits);
    expect(remaining(await key.giveBack(decision, limits))).toEqual(limits);
    const minute = redisKeys.openWindow(key.customerId, 'minute');
    await redis.pexpire(minute, 40_000);
    await key.at(noon + 20_000);
    expect(remaining(await key.decide(limits))).toMatchObject({ minute: 9 });
    expect(await redis.pttl(minute)).toBeLessThanOrEqual(40_000);
    await key.at('2026-11-25T00:00:00Z');
    await key.serve(1);
    expect(await key.days('2026-11-24', '2026-11-25')).toMatchObject([{ served: 1 }, { served: 1 }]);
  });

  test('changes no window that was opened after it', async () => {
    const key = await start();
    const decision = await key.decide(limits);
    await redis.del(redisKeys.openWindow(key.customerId, 'minute'));
    await key.at(noon + 61_000);
    // The clock of expiries is the real one.
    await redis.pexpire(redisKeys.openWindow(key.customerId, 'hour'), 3_600_000 - 61_000);
    await key.decide(limits);
    // The hour is the same one; of the minute nothing is left to give back.
    const left = remaining(await key.giveBack(decision, limits));
    expect(left).toEqual({ minute: 9, hour: 19, day: 29, month: 39 });
  });

  test('changes nothing once its day is over', async () => {
    const key = await start();
    await key.at('2026-11-24T23:59:59.999Z');
    const decision = await key.decide(limits);
    await key.at('2026-11-25T00:00:00Z');
    expect(await key.giveBack(decision, limits)).toBeUndefined();
    expect(remaining(await key.decide(limits))).toEqual({ minute: 8, hour: 18, day: 29, month: 38 });
    expect(await key.days('2026-11-24', '2026-11-25')).toMatchObject([{ served: 1 }, { served: 1 }]);
  });

  test.each([
    ['its key', undefined],
    ['another key of its customer', 'f'.repeat(64)],
  ])('lets an allowed request of %s begin the grace period before strikes anew', async (_whose, sender) => {
    const key = await start();
    const one = { minute: 1 };
    const decision = await key.decide(one);
    expect((await key.decide(one, 1, sender)).outcome).toBe('limited');
    await key.giveBack(decision, one);
    expect((await key.decide(one, 1, sender)).outcome).toBe('allowed');
    await key.at(noon + 15_000);
    // The day has as many requests as at the first refusal.
    expect(await key.decide(one, 1, sender)).toMatchObject({ outcome: 'limited', strikesLeft: 0 });
  });
});
