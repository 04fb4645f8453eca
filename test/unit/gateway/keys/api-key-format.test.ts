import { describe, expect, test } from 'vitest';
import { generateApiKey, hashApiKey, isWellFormedApiKey } from '../../../../gateway/keys/api-key-format.ts';

// Checksum and hash computed with another program (Python's zlib and hashlib).
const key = 'pets_0123456789ABCDEFGHIJKLMNOPQRSTUV44pYd6';
const keyHash = '70e50ef5eaeaa55c6e5561bb04491159e2866d00f69e42563627e8e4b7fe6da6';
const keyWithSmallChecksum = 'pets_zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz27sler';

describe('a generated key', () => {
  test('has the documented form', () => {
    expect(generateApiKey()).toMatch(/^pets_[0-9A-Za-z]{38}$/);
  });

  test('is well-formed and never repeats', () => {
    const keys = Array.from({ length: 1000 }, generateApiKey);
    expect(keys.filter((generated) => !isWellFormedApiKey(generated))).toEqual([]);
    expect(new Set(keys).size).toBe(1000);
  });
});

describe('the form of a key, checked without a lookup', () => {
  test.each([key, keyWithSmallChecksum])('%s is well-formed', (known) => {
    expect(isWellFormedApiKey(known)).toBe(true);
  });
});

test('a key is stored as its SHA-256 in hexadecimal', () => {
  expect(hashApiKey(key)).toBe(keyHash);
});
