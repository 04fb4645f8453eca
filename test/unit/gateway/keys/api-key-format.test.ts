import { expect, test } from 'vitest';
import { generateApiKey, hashApiKey, isWellFormedApiKey } from '../../../../gateway/keys/api-key-format.ts';

// Checksum and hash computed with another program (Python's zlib and hashlib).
const key = 'pets_0123456789ABCDEFGHIJKLMNOPQRSTUV44pYd6';
const keyHash = '70e50ef5eaeaa55c6e5561bb04491159e2866d00f69e42563627e8e4b7fe6da6';
const keyWithSmallChecksum = 'pets_zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz27sler';

test('generated keys are well-formed and never repeat', () => {
  const keys = Array.from({ length: 1000 }, generateApiKey);
  const isRight = (key: string) => /^pets_[0-9A-Za-z]{38}$/.test(key) && isWellFormedApiKey(key);
  expect(keys.filter((generated) => !isRight(generated))).toEqual([]);
  expect(new Set(keys).size).toBe(1000);
});

test.each([key, keyWithSmallChecksum])('%s is well-formed', (known) => {
  expect(isWellFormedApiKey(known)).toBe(true);
});

test('a key is stored as its SHA-256 in hexadecimal', () => {
  expect(hashApiKey(key)).toBe(keyHash);
});
