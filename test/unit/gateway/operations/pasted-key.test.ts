import { describe, expect, test } from 'vitest';
import { generateApiKey, hashApiKey } from '../../../../gateway/api-keys/api-key-format.ts';
import { assertNotApiKey, containsApiKey } from '../../../../gateway/operations/pasted-key.ts';

describe('an API key is noticed', () => {
  const key = generateApiKey();
  test.each([
    ['the key', key],
    ['a part of it', key.slice(0, -6)],
    ['it within a header', `Bearer ${key}`],
    ['it without its prefix', key.slice('pets_'.length)],
  ])('%s', (_name, text) => {
    expect(containsApiKey(text)).toBe(true);
    expect(() => assertNotApiKey(text)).toThrow(/^this is an API key itself/);
    try {
      assertNotApiKey(text);
    } catch (error) {
      expect(String(error)).not.toContain(key.slice(10, 30));
    }
  });

  test.each([
    ['a hint', key.slice(0, 9)],
    ['an id', 'key_282dd48c706990d481'],
    ['a hash', hashApiKey(key)],
    ['a long name', 'a'.repeat(38)],
  ])('but not %s', (_name, text) => {
    expect(containsApiKey(text)).toBe(false);
  });
});
