import { afterEach, describe, expect, test } from 'vitest';
import { apiKeysIn, keyTextMatcher } from '../../../../../gateway/control/keys/find-keys.ts';
import { containsApiKey } from '../../../../../gateway/control/keys/pasted-key.ts';
import {
  apiKeyHint,
  generateApiKey,
  hasApiKeyForm,
  isWellFormedApiKey,
} from '../../../../../gateway/keys/api-key-format.ts';
import {
  defaultKeyPrefix,
  keyPattern,
  keyPrefixPattern,
  setKeyPrefix,
} from '../../../../../gateway/platform/config/key-prefix.ts';
import { holdsApiKey } from '../../../../../gateway/platform/http/addresses.ts';
import { parseCredential } from '../../../../../gateway/request/authenticate.ts';
import { petsKeyPrefix } from '../../../../../gateway/upstream/pets-service.ts';

afterEach(() => setKeyPrefix(petsKeyPrefix));

test.each(['box_', 'a_', '7up_', 'abcdefghijklmno_', 'pets_'])('%s is a prefix', (prefix) => {
  expect(prefix).toMatch(keyPrefixPattern);
});

test.each(['', '_', 'box', 'Box_', 'bo-x_', 'bo_x_', 'box_ ', 'abcdefghijklmnop_', 'b.*_', 'key_', 'böx_'])(
  '"%s" is none',
  (prefix) => {
    expect(prefix).not.toMatch(keyPrefixPattern);
  },
);

describe('with another prefix', () => {
  function keys() {
    setKeyPrefix(defaultKeyPrefix);
    const old = generateApiKey();
    setKeyPrefix('box_');
    return { old, key: generateApiKey() };
  }

  test('keys have it, with a checksum of their own, and no other key is taken', () => {
    const { old, key } = keys();
    expect(key).toMatch(/^box_[0-9A-Za-z]{38}$/);
    expect(apiKeyHint(key)).toBe(`${key.slice(0, 8)}…`);
    expect(isWellFormedApiKey(key)).toBe(true);
    expect(hasApiKeyForm(old)).toBe(false);
    expect(isWellFormedApiKey(`box_${old.slice(defaultKeyPrefix.length)}`)).toBe(false);
    expect(parseCredential(['Authorization', `Bearer ${key}`])).toMatchObject({ outcome: 'key' });
    expect(parseCredential(['Authorization', `Bearer ${old}`])).toEqual({
      outcome: 'malformed_api_key',
      message: 'An API key is box_ with 38 letters and digits after it, without quotes.',
    });
  });

  test('keys with both prefixes are redacted, also a part of one', () => {
    const { old, key } = keys();
    for (const secret of [old, key]) {
      expect(holdsApiKey(`x=${secret}`)).toBe(true);
      expect(containsApiKey(secret.slice(0, -10))).toBe(true);
      expect(secret.replaceAll(keyPattern(/[0-9A-Za-z]{5,}/g)(), '')).toBe('');
    }
    expect(containsApiKey(key.slice('box_'.length))).toBe(true);
    expect(apiKeysIn(`${old} ${key}`)).toEqual(new Set([key]));
    expect(keyTextMatcher(key)({ id: '', hint: apiKeyHint(key), texts: [] })).toBe(true);
    expect(() => keyTextMatcher('box_1')).toThrow('give at least two characters of the key after box_');
  });

  test('a whole key is noticed before the prefix is known', () => {
    const { key } = keys();
    setKeyPrefix(defaultKeyPrefix);
    expect(containsApiKey(`Bearer ${key}`)).toBe(true);
    expect(containsApiKey(`${key.slice(0, -1)}${key.endsWith('x') ? 'y' : 'x'}`)).toBe(false);
    setKeyPrefix('longestprefixes_');
    const longest = generateApiKey();
    setKeyPrefix(defaultKeyPrefix);
    expect(containsApiKey(`x${longest}`)).toBe(true);
  });
});
