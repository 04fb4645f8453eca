import { describe, expect, test } from 'vitest';
import { InvalidOperation } from '../../../../../gateway/control/invalid-operation.ts';
import { assertNotApiKey, containsApiKey } from '../../../../../gateway/control/keys/pasted-key.ts';
import { generateApiKey, hashApiKey } from '../../../../../gateway/keys/api-key-format.ts';

describe('an API key is noticed', () => {
  const key = generateApiKey();
  test.each([
    ['the key', key],
    ['a part of it', key.slice(0, -6)],
    ['it within a header', `Bearer ${key}`],
    ['it without its prefix', key.slice('pets_'.length)],
  ])('%s', (_name, text) => {
    expect(containsApiKey(text)).toBe(true);
    expect(() => assertNotApiKey(text)).toThrow(
      new InvalidOperation(
        'this is an API key itself and not the id of one, such as key_…; ops keys show reads a key from standard input',
      ),
    );
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
