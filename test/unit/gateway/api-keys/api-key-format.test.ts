import { describe, expect, test } from 'vitest';
import {
  generateApiKey,
  hashApiKey,
  isWellFormedApiKey,
} from '../../../../gateway/api-keys/api-key-format.ts';

// Checksum and hash computed with another program (Python's zlib and hashlib).
const key = 'pets_0123456789ABCDEFGHIJKLMNOPQRSTUV44pYd6';
const keyHash = '70e50ef5eaeaa55c6e5561bb04491159e2866d00f69e42563627e8e4b7fe6da6';
const keyWithSmallChecksum = 'pets_zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz27sler';

const replaceAt = (text: string, index: number, character: string) =>
  text.slice(0, index) + character + text.slice(index + 1);

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

  test.each([
    ['an empty text', ''],
    ['the prefix alone', 'pets_'],
    ['a missing character', key.slice(0, -1)],
    ['an extra character', `${key}0`],
    ['a line break at the end', `${key}\n`],
    ['a space before it', ` ${key}`],
    ['the prefix in capitals', key.replace('pets_', 'PETS_')],
    ['no prefix', key.slice(5)],
    ['a character outside base62', replaceAt(key, 10, '-')],
    ['a Cyrillic character that looks like A', replaceAt(key, 15, 'А')],
  ])('%s is refused', (_name, text) => {
    expect(isWellFormedApiKey(text)).toBe(false);
  });
});

test('a key is stored as its SHA-256 in hexadecimal', () => {
  expect(hashApiKey(key)).toBe(keyHash);
});
