import { expect, test } from 'vitest';
import { isApiKey } from '../../../../../gateway/faces/docs/browser/key-format.ts';
import { generateApiKey } from '../../../../../gateway/keys/api-key-format.ts';

test('a browser takes each key of the gateway, and none with another character', () => {
  for (let count = 0; count < 100; count += 1) {
    const key = generateApiKey();
    expect(isApiKey(key)).toBe(true);
    const place = 5 + (count % 38);
    const other = key[place] === 'x' ? 'y' : 'x';
    expect(isApiKey(key.slice(0, place) + other + key.slice(place + 1))).toBe(false);
  }
  expect(['', 'pets_', `${generateApiKey()}x`, ` ${generateApiKey()}`].map(isApiKey)).not.toContain(true);
});
