import { beforeEach, describe, expect, test } from 'vitest';
import { createApiKeyCache, createNewestRecords } from '../../../../gateway/keys/api-key-cache.ts';
import type { ApiKeyRecord } from '../../../../gateway/keys/records.ts';
import type { RedisClient } from '../../../../gateway/platform/redis/redis-client.ts';
import { RedisUnavailable, type RedisGate } from '../../../../gateway/platform/redis/redis-gate.ts';

const keyHash = 'a'.repeat(64);
const key = `gw:key:{cus_1}:${keyHash}`;
const pointer = `gw:key-customer:${keyHash}`;
const valid = { id: 'key_1', plan: 'free', rev: '1' };

const initial = {
  record: valid as Record<string, string>,
  /** Records of single Redis keys, in place of `record`. */
  others: {} as Record<string, Record<string, string>>,
  owner: 'cus_1',
  open: true,
  nowMs: 1_000_000,
  limitsAreKnown: true,
  isEmptied: false,
  reports: [] as [key: string, issues: readonly string[]][],
};
let redis: typeof initial;
beforeEach(() => {
  redis = { ...initial, reports: [] };
});

const cache = () =>
  createApiKeyCache({
    // Each of the two records has all fields, of which it takes its own.
    redis: {
      get: () => Promise.resolve(redis.owner),
      hgetall: (name: string) => Promise.resolve(redis.others[name] ?? redis.record),
    } as unknown as RedisClient,
    gate: {
      get open() {
        return redis.open;
      },
      send: <T>(command: () => Promise<T>) => {
        if (!redis.open) throw new RedisUnavailable('not used at the moment');
        return command();
      },
    } as unknown as RedisGate,
    invalidValues: {
      report: (name, issues) => void redis.reports.push([name, issues]),
      forget: () => {},
      list: () => [],
    },
    plans: {
      ensureLoaded: () => Promise.resolve(),
      limitsOf: ({ plan }) => (redis.limitsAreKnown && plan !== 'unread' ? { minute: 1, day: 1 } : undefined),
    },
    setUpMarker: { isMissing: () => redis.isEmptied, refresh: () => Promise.resolve() },
    now: () => redis.nowMs,
  });

test('a record serves for fifteen minutes without Redis, and no longer', async () => {
  const keys = cache();
  await keys.find(keyHash);
  redis.open = false;
  redis.nowMs += 15 * 60_000;
  expect((await keys.find(keyHash)).outcome).toBe('valid');
  redis.nowMs += 1;
  expect((await keys.find(keyHash)).outcome).toBe('unavailable');
});

test('a record whose plan has no known limits is read again for each request', async () => {
  const keys = cache();
  redis.limitsAreKnown = false;
  await keys.find(keyHash);
  expect(keys.getCached(keyHash)).toBeUndefined();
  redis.limitsAreKnown = true;
  await keys.find(keyHash);
  expect(keys.getCached(keyHash)).toMatchObject({ id: 'key_1' });
});

test('a known key that was put on a plan which cannot be read stays on its last limits', async () => {
  const keys = cache();
  redis.record = { ...valid, minute: '5' };
  await keys.find(keyHash);
  redis.record = { ...valid, plan: 'unread', rev: '2', scopes: 'pets:read' };
  const kept = { plan: 'free', minute: 5, rev: 2, scopes: ['pets:read'] };
  expect(await keys.reread(keyHash)).toMatchObject({ outcome: 'valid', caller: kept });
  // The plan may be there any moment.
  expect(keys.getCached(keyHash)).toBeUndefined();
  redis.open = false;
  expect(await keys.find(keyHash)).toMatchObject({ outcome: 'valid', caller: kept });
  redis.open = true;
  redis.record = { ...redis.record, plan: 'pro' };
  await keys.find(keyHash);
  expect(keys.getCached(keyHash)).toMatchObject({ plan: 'pro' });
  expect(keys.getCached(keyHash)).not.toHaveProperty('minute');
});

test('a key that is absent is unknown, and unavailable while Redis is not set up', async () => {
  const keys = cache();
  await keys.find(keyHash);
  redis.record = {};
  redis.isEmptied = true;
  expect(await keys.find(keyHash)).toEqual({ outcome: 'unavailable' });
  expect(await cache().find(keyHash)).toEqual({ outcome: 'unavailable' });
  redis.isEmptied = false;
  expect(await keys.find(keyHash)).toEqual({ outcome: 'unknown' });
  redis.open = false;
  expect(await keys.find(keyHash)).toEqual({ outcome: 'unavailable' });
});

test('a record that was edited into something else is an error, and serves again once it is restored', async () => {
  const keys = cache();
  await keys.find(keyHash);
  redis.record = { ...valid, plan: '' };
  await expect(keys.find(keyHash)).rejects.toThrow('gw:customer:{cus_1} is invalid (plan is missing)');
  redis.record = valid;
  expect(await keys.find(keyHash)).toMatchObject({ outcome: 'valid' });
  redis.owner = 'nobody';
  await expect(cache().find(keyHash)).rejects.toThrow(`${pointer} is no id of a customer`);
});

test('a key of a suspended customer is refused, also without Redis', async () => {
  const keys = cache();
  redis.record = { ...valid, suspendedAt: '2026-10-01T00:00:00.000Z' };
  const suspended = { outcome: 'suspended', key: { id: 'key_1', customerId: 'cus_1', keyHash } };
  expect(await keys.find(keyHash)).toEqual(suspended);
  expect(keys.getCached(keyHash)).toBeUndefined();
  redis.open = false;
  expect(await keys.find(keyHash)).toEqual(suspended);
});

test('a lost change is reported of the key, and a revocation holds', async () => {
  const keys = cache();
  redis.record = { ...valid, rev: '2', revokedAt: '2026-10-01T00:00:00.000Z' };
  await keys.find(keyHash);
  expect(redis.reports).toEqual([[key, []]]);
  redis.reports = [];
  redis.record = valid;
  expect((await keys.reread(keyHash)).outcome).toBe('revoked');
  expect(redis.reports).toEqual([[key, [expect.stringContaining('Redis has lost a change of key_1')]]]);
});

describe('a key that was issued again for another customer', () => {
  const issuedAgain = (again: Record<string, string>) => {
    redis.record = {};
    redis.owner = 'cus_2';
    redis.others = { 'gw:customer:{cus_2}': again, [`gw:key:{cus_2}:${keyHash}`]: again };
  };

  test('is served for that one', async () => {
    const keys = cache();
    await keys.find(keyHash);
    issuedAgain(valid);
    expect(await keys.find(keyHash)).toMatchObject({ outcome: 'valid', caller: { customerId: 'cus_2' } });
  });

  test('is not served for the first one if its new record is invalid', async () => {
    const keys = cache();
    await keys.find(keyHash);
    issuedAgain({ ...valid, plan: '' });
    await expect(keys.find(keyHash)).rejects.toThrow('gw:customer:{cus_2} is invalid (plan is missing)');
    redis.open = false;
    expect(await keys.find(keyHash)).toEqual({ outcome: 'unavailable' });
  });
});

const version = (rev: number, changes: Partial<ApiKeyRecord> = {}): ApiKeyRecord => ({
  id: 'key_1',
  customerId: 'cus_1',
  name: '',
  plan: 'free',
  hint: '',
  createdAt: '',
  rev,
  ...changes,
});

test('a suspension that was lost holds for each key of the customer, until a newer record ends it', () => {
  const records = createNewestRecords();
  const suspendedAt = '2026-11-20T10:00:00Z';
  records.newest('a', version(5, { suspendedAt }));
  expect(records.newest('b', version(4))).toMatchObject({ suspendedAt });
  expect(records.newest('b', version(4, { customerId: 'cus_2' }))).not.toHaveProperty('suspendedAt');
  const resumed = version(6);
  expect(records.newest('a', resumed)).toBe(resumed);
  expect(records.newest('c', version(4))).not.toHaveProperty('suspendedAt');
});
