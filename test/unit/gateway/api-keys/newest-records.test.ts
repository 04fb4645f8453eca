import { expect, test } from 'vitest';
import type { ApiKeyRecord } from '../../../../gateway/api-keys/api-key-record.ts';
import { createNewestRecords } from '../../../../gateway/api-keys/newest-records.ts';

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

test('an older record than one that was read before is not taken, a newer one is', () => {
  const records = createNewestRecords();
  const second = version(2);
  expect(records.newest('a', second)).toBe(second);
  expect(records.newest('a', version(1))).toBe(second);
  // Another key has versions of its own.
  expect(records.newest('b', version(1))).toMatchObject({ rev: 1 });
  expect(records.newest('a', version(3))).toMatchObject({ rev: 3 });
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

test('a revocation is final, whatever the rev', () => {
  const records = createNewestRecords();
  records.newest('a', version(5));
  const revoked = version(1, { revokedAt: '2026-11-20T10:00:00Z' });
  expect(records.newest('a', revoked)).toBe(revoked);
  expect(records.newest('a', version(9))).toBe(revoked);
});
