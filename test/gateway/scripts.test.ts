import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { recordChangeCall } from '../../gateway/control/record-change-call.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { defaultBanPolicy } from '../../gateway/quota/policies.ts';
import { startRedisClient } from '../support/kits/keys.ts';
import { shared } from '../support/kits/shared.ts';
import { createSimulatedKey } from '../support/kits/simulated-key.ts';

/** What a script does with each argument, beyond what its callers need today. */
describe('the script', () => {
  const key = () => `test:${randomUUID()}`;

  const redis = shared(startRedisClient);

  test('consume keeps the number of bans until a ban counts as a first one again', async () => {
    const key = await createSimulatedKey(redis);
    const strikes = redisKeys.strikes(key);
    await key.at('2026-11-24T12:00:00Z');
    await redis.hset(strikes, { bans: 1, bannedUntil: Date.parse('2026-11-24T11:59:00Z') });
    expect((await key.decide({ minute: 1 })).outcome).toBe('allowed');
    expect((await key.decide({ minute: 1 })).outcome).toBe('limited');
    const keptSeconds = await redis.ttl(strikes);
    // A minute of it has passed, and the test itself takes a moment.
    expect(keptSeconds).toBeLessThanOrEqual(defaultBanPolicy.resetSeconds - 60);
    expect(keptSeconds).toBeGreaterThan(defaultBanPolicy.resetSeconds - 180);
  });

  test('change-record lists a new key with its customer, and writes nothing if the key exists', async () => {
    const customerId = `cus_${randomUUID()}` as const;
    const place = { customerId, keyHash: 'a'.repeat(64) };
    const write = (id: string, isNew: boolean) => {
      const record = { id, customerId, name: '', hint: '', createdAt: '', plan: 'free', rev: 0 };
      const { keys, args } = recordChangeCall({
        customerId,
        rev: '',
        customer: { name: id },
        key: { keyHash: place.keyHash, record, isNew },
      });
      return redis.changeRecord(keys.length, ...keys, ...args);
    };
    const read = async () => [
      await redis.hgetall(redisKeys.customer(customerId)),
      await redis.hgetall(redisKeys.apiKey(place)),
      await redis.smembers(redisKeys.customerKeys(customerId)),
    ];
    const rev = await write('key_1', true);
    const written = [{ name: 'key_1', rev: String(rev) }, { id: 'key_1' }, ['key_1']];
    expect(await read()).toEqual(written);
    expect(await write('key_2', true)).toBe(0);
    expect(await read()).toEqual(written);
    expect(await write('key_1', false)).toBeGreaterThan(rev);
  });

  test('set-fields changes a hash that is as expected, and no other', async () => {
    const hash = key();
    await redis.hset(hash, { a: '1', b: '2' });
    const others: (string | number)[][] = [
      [1, 'a', '1'],
      [2, 'a', '1', 'b', 'other'],
      [2, 'a', 'other', 'b', '2'],
      [3, 'a', '1', 'b', '2', 'c', '3'],
    ];
    for (const expected of others) {
      expect(await redis.setFields(hash, ...expected, 'a', 'new')).toBe(0);
    }
    expect(await redis.hgetall(hash)).toEqual({ a: '1', b: '2' });
    expect(await redis.setFields(hash, 2, 'a', '1', 'b', '2', 'a', '', 'c', '3')).toBe(1);
    expect(await redis.hgetall(hash)).toEqual({ b: '2', c: '3' });
  });

  test('add-key-use adds up the requests of a day, and begins anew on the next one', async () => {
    const use = key();
    const add = async (...counts: [lastMs: number, day: number, served: number, refused: number]) => {
      await redis.addKeyUse(use, ...counts, 60_000);
      return redis.get(use);
    };
    expect(await add(2000, 7, 2, 1)).toBe('2000 7 2 1');
    expect(await add(1000, 7, 3, 0)).toBe('2000 7 5 1');
    expect(await add(3000, 8, 1, 4)).toBe('3000 8 1 4');
    // A report of the day before comes too late.
    expect(await add(2500, 7, 9, 9)).toBe('3000 8 1 4');
    expect(await redis.pttl(use)).toBeGreaterThan(50_000);
  });
});
