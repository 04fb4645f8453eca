import { describe, expect, test } from 'vitest';
import {
  apiKeyState,
  keptSeconds,
  parseApiKey,
  recordExpiry,
  type ApiKeyRecord,
} from '../../../../gateway/keys/records.ts';
import { UnexpectedValue } from '../../../../gateway/platform/redis/redis-errors.ts';

const fields = {
  id: 'key_1',
  name: 'Billing',
  plan: 'free',
  hint: 'pets_0123…',
  createdAt: '2026-11-20T10:00:00.000Z',
  rev: '3',
};

const record: ApiKeyRecord = { ...fields, customerId: 'cus_1', rev: 3 };

/** Fields of the key; all others are those of its customer. */
const ofKey = new Set(['id', 'name', 'hint', 'createdAt', 'expiresAt', 'scopes', 'revokedAt']);

/** Parses the fields of both records, without what only the customer's has. */
function parse(given: Record<string, string>) {
  const key = Object.fromEntries(Object.entries(given).filter(([name]) => ofKey.has(name)));
  const customer = Object.fromEntries(Object.entries(given).filter(([name]) => !ofKey.has(name)));
  return parseApiKey({ customerId: 'cus_1', keyHash: 'f00' }, { customer, key })?.record;
}

describe('a record read from Redis', () => {
  test('keeps the times of expiry and revocation as written', () => {
    const times = { expiresAt: '2026-12-01T00:00:00+02:00', revokedAt: '2026-11-21T00:00:00.5Z' };
    expect(parse({ ...fields, ...times })).toEqual({ ...record, ...times });
  });

  test('is absent if Redis has no hash', () => {
    expect(parse({})).toBeUndefined();
  });

  const limit = 'is not a whole number from 1 to 1000000000';
  const time = 'expiresAt is not an ISO 8601 time';

  test.each([
    ['a limit of zero', { minute: '0' }, `minute ${limit}`],
    ['a negative limit', { day: '-5' }, `day ${limit}`],
    ['text as a limit', { day: 'unlimited' }, `day ${limit}`],
    ['a limit above the maximum', { day: '1000000001' }, `day ${limit}`],
    ['text as rev', { rev: 'x' }, 'rev is not a whole number'],
    ['a rev above 2 to the power of 53', { rev: '9007199254740993' }, 'rev is not a whole number'],
    ['an expiry in words', { expiresAt: 'tomorrow' }, time],
    ['an empty expiry', { expiresAt: '' }, time],
    ['an expiry without a time zone', { expiresAt: '2026-12-01T00:00:00' }, time],
    ['a day that does not exist', { expiresAt: '2026-02-30T00:00:00Z' }, time],
  ])('is invalid with %s', (_name, edited, issue) => {
    const key = 'expiresAt' in edited ? 'gw:key:{cus_1}:f00' : 'gw:customer:{cus_1}';
    expect(() => parse({ ...fields, ...edited })).toThrow(
      new UnexpectedValue(key, `is invalid (${issue}): restore or delete it`),
    );
  });

  test('is revoked by any value of revokedAt', () => {
    expect(parse({ ...fields, revokedAt: 'yes' })).toEqual({ ...record, revokedAt: 'yes' });
  });

  test('is invalid without its customer', () => {
    expect(() => parse({ id: 'key_1' })).toThrow(
      new UnexpectedValue('gw:customer:{cus_1}', 'is missing: import it, or delete its keys'),
    );
  });

  test('may have a date without a time as its expiry', () => {
    expect(parse({ ...fields, expiresAt: '2026-12-01' })).toEqual({ ...record, expiresAt: '2026-12-01' });
  });
});

describe('the state of a key', () => {
  const expiresAt = '2026-12-01T00:00:00+02:00';
  const endMs = Date.UTC(2026, 10, 30, 22);
  const revokedAt = '2026-11-21T00:00:00Z';

  test.each([
    ['valid without an expiry', record, endMs, 'active'],
    ['valid until the last millisecond', { ...record, expiresAt }, endMs - 1, 'active'],
    ['expired exactly at its expiry', { ...record, expiresAt }, endMs, 'expired'],
    ['revoked', { ...record, revokedAt }, endMs, 'revoked'],
    ['suspended with its customer', { ...record, suspendedAt: revokedAt }, endMs, 'suspended'],
    ['revoked even if it is suspended', { ...record, suspendedAt: revokedAt, revokedAt }, endMs, 'revoked'],
    ['revoked even if it has also expired', { ...record, expiresAt, revokedAt }, endMs, 'revoked'],
  ])('is %s', (_name, given, nowMs, state) => {
    expect(apiKeyState(given, nowMs)).toBe(state);
  });
});

test('a record is kept for a while after its expiry or revocation, whichever is earlier', () => {
  const expiresAt = '2026-12-01T00:00:00Z';
  const revokedAt = '2026-11-21T00:00:00Z';
  expect(recordExpiry({})).toBe('');
  expect(recordExpiry({ expiresAt: 'soon' })).toBe('');
  expect(recordExpiry({ expiresAt })).toBe(Date.parse(expiresAt) / 1000 + keptSeconds);
  expect(recordExpiry({ expiresAt, revokedAt })).toBe(Date.parse(revokedAt) / 1000 + keptSeconds);
});
