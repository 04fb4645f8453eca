import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { keyIdPattern } from '../../../../gateway/control/keys/key-input.ts';
import { exportLine, parseLine } from '../../../../gateway/control/keys/key-transfer.ts';
import {
  apiKeyHint,
  generateApiKey,
  hashApiKey,
  isWellFormedApiKey,
} from '../../../../gateway/keys/api-key-format.ts';
import {
  formatApiKeyRecord,
  formatCustomerRecord,
  parseApiKey,
  type ApiKeyRecord,
  type StoredApiKey,
} from '../../../../gateway/keys/records.ts';
import { limitsIn } from '../../../../gateway/limits/limits.ts';
import { byKind, keyFields } from '../../../../gateway/limits/record-fields.ts';
import { forAll } from '../../../../gateway/limits/windows.ts';
import { UnexpectedValue } from '../../../../gateway/platform/redis/redis-errors.ts';
import { isCustomerId } from '../../../../gateway/platform/redis/redis-keys.ts';
import { parseCredential } from '../../../../gateway/request/authenticate.ts';

/** A key from the system's random source; fast-check prints the one that fails. */
const apiKey = fc.constant(null).map(generateApiKey);
const character = fc.string({ unit: 'binary', minLength: 1, maxLength: 1 });
const base62 = fc.stringMatching(/^[0-9A-Za-z]$/);
const position = fc.nat({ max: 42 });

describe('an API key', () => {
  test('is well-formed, never repeats, and its hint shows four of its random characters', () => {
    const keys = Array.from({ length: 1000 }, generateApiKey);
    expect(new Set(keys).size).toBe(1000);
    for (const key of keys) {
      expect(key).toMatch(/^pets_[0-9A-Za-z]{38}$/);
      expect(isWellFormedApiKey(key)).toBe(true);
      expect(apiKeyHint(key)).toBe(`${key.slice(0, 9)}…`);
    }
  });

  test('is well-formed by its checksum, and stored as its SHA-256 in hexadecimal', () => {
    // Computed with another program (Python's zlib and hashlib). The second one has a small checksum.
    const key = 'pets_0123456789ABCDEFGHIJKLMNOPQRSTUV44pYd6';
    expect(hashApiKey(key)).toBe('70e50ef5eaeaa55c6e5561bb04491159e2866d00f69e42563627e8e4b7fe6da6');
    const small = 'pets_zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz27sler';
    expect([key, small].map(isWellFormedApiKey)).toEqual([true, true]);
  });

  test('with one character changed, removed or added is refused', () => {
    fc.assert(
      fc.property(apiKey, position, fc.oneof(base62, character), (key, at, other) => {
        const [before, after] = [key.slice(0, at), key.slice(at + 1)];
        if (other !== key[at]) expect(isWellFormedApiKey(before + other + after)).toBe(false);
        expect(isWellFormedApiKey(before + after)).toBe(false);
        expect(isWellFormedApiKey(before + other + key.slice(at))).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });

  test('with two characters swapped is refused', () => {
    fc.assert(
      fc.property(apiKey, position, position, (key, first, second) => {
        const characters = key.split('');
        [characters[first], characters[second]] = [characters[second] ?? '', characters[first] ?? ''];
        const swapped = characters.join('');
        if (swapped !== key) expect(isWellFormedApiKey(swapped)).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });

  test('is not matched by random text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
        expect(isWellFormedApiKey(text)).toBe(false);
        expect(isWellFormedApiKey(`pets_${text}`)).toBe(false);
      }),
    );
  });
});

describe('the Authorization header', () => {
  const headerName = fc.constantFrom('Authorization', 'authorization', 'AUTHORIZATION', 'X-Other', 'Host');
  const scheme = fc.constantFrom('Bearer', 'bearer', 'BEARER', 'Basic', 'Bearerx', '', 'Bear er');
  const space = fc.constantFrom(' ', '  ', '', '\t', ' '.repeat(300));
  const token = fc.oneof(
    apiKey,
    apiKey.map((key) => key.slice(1)),
    fc.string({ unit: 'binary' }),
  );
  const value = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(scheme, space, token).map((parts) => parts.join('')) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 400 }) },
  );
  const rawHeaders = fc.array(fc.tuple(headerName, value), { maxLength: 4 });

  test('yields a key only from a single header with the Bearer scheme and a well-formed key', () => {
    fc.assert(
      fc.property(rawHeaders, (headers) => {
        const given = headers.filter(([name]) => name.toLowerCase() === 'authorization');
        const parsed = parseCredential(headers.flat());
        const only = given[0]?.[1] ?? '';
        const [first = '', ...rest] = only.split(' ');
        const key = rest.at(-1) ?? '';
        const isKey =
          given.length === 1 &&
          only.length <= 256 &&
          first.toLowerCase() === 'bearer' &&
          rest.slice(0, -1).every((between) => between === '') &&
          isWellFormedApiKey(key);
        if (isKey) expect(parsed).toEqual({ outcome: 'key', keyHash: hashApiKey(key) });
        else expect(parsed.outcome).toBe(given.length === 0 ? 'missing_api_key' : 'malformed_api_key');
      }),
      { numRuns: 2000 },
    );
  });
});

describe('the record of a key', () => {
  const nonEmptyString = fc.string({ unit: 'binary', minLength: 1, maxLength: 30 });
  const time = fc
    .date({ min: new Date('2000-01-01'), max: new Date('9999-01-01'), noInvalidDate: true })
    .map((date) => date.toISOString());
  const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
  const limit = fc.integer({ min: 1, max: 1_000_000_000 });
  /** Each field, so that writing and reading forget none. */
  const fields: { [Field in keyof Required<ApiKeyRecord>]: fc.Arbitrary<ApiKeyRecord[Field]> } = {
    id: nonEmptyString,
    customerId: fc.constant('cus_1' as const),
    name: fc.string({ unit: 'binary' }),
    plan: nonEmptyString,
    hint: fc.string(),
    createdAt: time,
    ...byKind(keyFields, {
      text: () => optional(nonEmptyString),
      time: () => optional(time),
      scopes: () => optional(fc.array(fc.constantFrom('orders:read', 'orders:write'), { minLength: 1 })),
    }),
    ...forAll(() => optional(limit)),
    revokedAt: optional(time),
    suspendedAt: optional(time),
    replaces: optional(nonEmptyString),
    replacedBy: optional(nonEmptyString),
    rev: fc.nat(),
  };
  const record = fc.record(fields);
  const place = { customerId: 'cus_1', keyHash: '0'.repeat(64) } as const;

  test('survives writing and reading', () => {
    fc.assert(
      fc.property(record, (written) => {
        // change-record.lua does not store an empty value.
        const stored = (fields: Record<string, string>) =>
          Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
        const customer = formatCustomerRecord({ ...written, id: written.customerId });
        const parsed = parseApiKey(place, {
          customer: stored({ ...customer, rev: String(written.rev) }),
          key: stored(formatApiKeyRecord(written)),
        });
        expect(parsed?.record).toEqual(written);
      }),
    );
  });

  test('survives export and import', () => {
    const exported = fc.record({
      ...fields,
      id: fc.stringMatching(keyIdPattern).filter((id) => !isCustomerId(id)),
    });
    fc.assert(
      fc.property(exported, (record) => {
        const { createdAt, plan, suspendedAt, rev } = record;
        const customer = {
          id: 'cus_1',
          name: 'Acme',
          createdAt,
          plan,
          ...limitsIn(record),
          suspendedAt,
          rev,
        } as const;
        const line = { place, record, customer };
        expect(parseLine(exportLine(line))).toEqual(line);
        expect(parseLine(exportLine({ customer }))).toEqual({ customer });
      }),
    );
  });

  const fieldName = fc.oneof(
    fc.constantFrom('id', 'name', 'plan', 'minute', 'day', 'rev', 'expiresAt', 'revokedAt', 'hint'),
    fc.string(),
  );

  const someFields = fc.dictionary(fieldName, fc.string({ unit: 'binary' }), { maxKeys: 10 });

  test('is never parsed from invalid fields, and a revoked key stays revoked', () => {
    fc.assert(
      fc.property(someFields, someFields, (fields, customer) => {
        let parsed: StoredApiKey | undefined;
        try {
          parsed = parseApiKey(place, { customer, key: fields });
        } catch (error) {
          expect(error).toBeInstanceOf(UnexpectedValue);
          return;
        }
        if (parsed === undefined) {
          expect(Object.keys(fields)).toEqual([]);
          return;
        }
        expect(parsed.record.revokedAt !== undefined).toBe((fields['revokedAt'] ?? '') !== '');
        expect(parsed.record.id).not.toBe('');
      }),
      { numRuns: 1000 },
    );
  });
});
