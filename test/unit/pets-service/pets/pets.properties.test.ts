import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PetsError } from '../../../../pets-service/errors.ts';
import {
  formatCursor,
  int64Json,
  int64Reviver,
  parseNewPet,
  parsePetId,
  parsePetsQuery,
  petStatuses,
} from '../../../../pets-service/pets/pet.ts';

const min = -(2n ** 63n);
const max = 2n ** 63n - 1n;
const int64 = fc.bigInt({ min, max });
/** Values around the bounds of int64, and far beyond them. */
const nearBounds = fc.oneof(
  fc.tuple(fc.constantFrom(min, max), fc.bigInt({ min: -3n, max: 3n })).map(([end, step]) => end + step),
  fc.bigInt({ min: min * 100n, max: max * 100n }),
);

/** Result; undefined for a client error, which has to have this code. Any other error is thrown. */
function resultOf<T>(parse: () => T, code = 'invalid_request'): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof PetsError) || error.status >= 500) throw error;
    expect(error.code).toBe(code);
    return undefined;
  }
}

describe('a 64-bit integer', () => {
  test('is parsed and survives JSON digit for digit', () => {
    fc.assert(
      fc.property(int64, (value) => {
        const text = JSON.stringify({ value: int64Json(value) });
        expect(text).toBe(`{"value":${value}}`);
        expect(JSON.parse(text, int64Reviver)).toEqual({ value });
      }),
    );
  });

  test.each([
    ['1.0', 1n],
    ['-0', 0n],
    ['1.2e1', 12n],
    ['100E-2', 1n],
    ['9007199254740993.00', 9_007_199_254_740_993n],
    ['-9223372036854775808', min],
    ['9223372036854775808', undefined],
    ['1.00000000000000000001', undefined],
    ['1e-1', undefined],
  ])('is recognized by its value, in any notation: %s', (source, value) => {
    expect(JSON.parse(source, int64Reviver)).toBe(value ?? Number(source));
  });

  // In quadratic time any of these would take minutes.
  const zeros = '0'.repeat(1_000_000);
  test.each([
    ['a power of ten cancelled by its exponent', `1${zeros}e-1000000`, 1n],
    ['zeros between ones', `1.${zeros}1`, undefined],
    ['a huge exponent', `1e${zeros}9${zeros}`, undefined],
  ])('of a megabyte is parsed in linear time: %s', (_name, source, value) => {
    expect(JSON.parse(source, int64Reviver)).toBe(value ?? Number(source));
  });
});

test('the reviver preserves JSON of any shape, with whole numbers as bigint', () => {
  const withNumbers = (value: unknown): unknown => {
    if (typeof value === 'bigint') return Number(value);
    if (Array.isArray(value)) return value.map(withNumbers);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withNumbers(inner)]));
  };
  fc.assert(
    fc.property(fc.json(), (text) => {
      // The reviver reads -0 as the integer 0.
      const plain = JSON.stringify(JSON.parse(text));
      expect(JSON.stringify(withNumbers(JSON.parse(text, int64Reviver)))).toBe(plain);
    }),
    { numRuns: 500 },
  );
});

describe('the body of a new pet', () => {
  /** Text with lone surrogates, which an escape in JSON can produce. */
  const brokenUnicode = fc
    .array(fc.oneof(fc.integer({ min: 0xd8_00, max: 0xdf_ff }), fc.integer({ min: 32, max: 126 })), {
      maxLength: 5,
    })
    .map((units) => String.fromCharCode(...units));
  const body = fc.oneof(
    fc.anything(),
    fc.record(
      {
        name: fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), brokenUnicode, fc.anything()),
        categoryId: fc.oneof(int64, fc.anything()),
        status: fc.oneof(fc.constantFrom(...petStatuses), fc.anything()),
        id: fc.anything(),
        // JSON.parse creates __proto__ as an own property; an object literal does not.
        ['__proto__']: fc.anything(),
      },
      { requiredKeys: [] },
    ),
    fc.json().map((text): unknown => JSON.parse(text, int64Reviver)),
  );

  test('becomes a valid pet or a client error', () => {
    fc.assert(
      fc.property(body, (body) => {
        const pet = resultOf(() => parseNewPet(body));
        if (pet === undefined) return;
        const { name, categoryId, status, ...others } = pet;
        expect(others).toEqual({});
        expect(name).toBe(name.trim());
        expect(name).not.toMatch(/\p{Cc}/u);
        expect(name.isWellFormed()).toBe(true);
        const { length } = Array.from(name);
        expect(length >= 1 && length <= 255).toBe(true);
        expect(typeof categoryId).toBe('bigint');
        expect(petStatuses).toContain(status);
      }),
      { numRuns: 2000 },
    );
  });

  test('that is valid is accepted, with white space around the name trimmed', () => {
    const name = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
      .filter((text) => text.trim() !== '' && !/\p{Cc}/u.test(text));
    const status = fc.option(fc.constantFrom(...petStatuses), { nil: undefined });
    fc.assert(
      fc.property(name, int64, status, (name, categoryId, status) => {
        const given = { name: ` ${name} `, categoryId, ...(status === undefined ? {} : { status }) };
        expect(parseNewPet(given)).toEqual({ name: name.trim(), categoryId, status: status ?? 'available' });
      }),
    );
  });
});

describe('the query of a list', () => {
  test('becomes a valid query of the store or a client error', () => {
    /** Cursors that are truncated or have extra characters. */
    const nearlyCursor = fc
      .tuple(int64.map(formatCursor), fc.stringMatching(/^[A-Za-z0-9+/=_-]{0,2}$/), fc.boolean())
      .map(([cursor, end, shortened]) => (shortened ? cursor.slice(0, -1) : cursor) + end);
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.integer({ min: -5, max: 200 }).map(String),
      fc.constantFrom<string>(...petStatuses),
      int64.map(formatCursor),
      nearlyCursor,
      fc.array(fc.string()),
    );
    const query = fc.dictionary(fc.constantFrom('limit', 'status', 'cursor', 'other', 'toString'), value);
    fc.assert(
      fc.property(query, (query) => {
        const parsed = resultOf(() => parsePetsQuery(query));
        if (parsed === undefined) return;
        const { limit, status, afterId } = parsed;
        expect(Number.isInteger(limit) && limit >= 1 && limit <= 100).toBe(true);
        expect(query['limit'] ?? '20').toBe(String(limit));
        expect(query['status']).toBe(status);
        if (afterId === undefined) expect(query['cursor']).toBeUndefined();
        else expect(query['cursor']).toBe(formatCursor(afterId));
      }),
      { numRuns: 2000 },
    );
  });

  test('continues after the id of its cursor', () => {
    fc.assert(
      fc.property(int64, (id) => {
        expect(parsePetsQuery({ cursor: formatCursor(id) }).afterId).toBe(id);
        expect(formatCursor(id)).toMatch(/^[\w-]{11}$/);
      }),
    );
  });
});

test('an id in a path is a canonical positive int64, or else 404', () => {
  const text = fc.oneof(nearBounds.map(String), fc.string({ unit: 'binary' }));
  fc.assert(
    fc.property(text, (text) => {
      const isCanonical = /^[1-9]\d*$/.test(text) && BigInt(text) <= max;
      const id = resultOf(() => parsePetId(text), 'pet_not_found');
      expect(id).toBe(isCanonical ? BigInt(text) : undefined);
    }),
    { numRuns: 1000 },
  );
});
