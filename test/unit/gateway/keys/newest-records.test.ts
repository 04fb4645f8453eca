import { expect, test } from 'vitest';
import type { ApiKeyRecord } from '../../../../gateway/keys/api-key-record.ts';
import { createNewestRecords } from '../../../../gateway/keys/newest-records.ts';

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
