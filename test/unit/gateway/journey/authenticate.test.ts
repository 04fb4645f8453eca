import { expect, test } from 'vitest';
import { parseCredential } from '../../../../gateway/journey/authenticate.ts';

const key = 'pets_0123456789ABCDEFGHIJKLMNOPQRSTUV44pYd6';
const keyHash = '70e50ef5eaeaa55c6e5561bb04491159e2866d00f69e42563627e8e4b7fe6da6';

test.each([
  ['in the documented form', ['Host', 'h', 'Authorization', `Bearer ${key}`]],
  ['under a header in lower case', ['authorization', `Bearer ${key}`]],
  ['under a header in capitals', ['AUTHORIZATION', `Bearer ${key}`]],
  ['with the scheme in lower case', ['Authorization', `bearer ${key}`]],
  ['with the scheme in capitals', ['Authorization', `BEARER ${key}`]],
  ['after several spaces', ['Authorization', `Bearer   ${key}`]],
])('a key is found %s', (_name, rawHeaders) => {
  expect(parseCredential(rawHeaders)).toEqual({ outcome: 'key', keyHash });
});

test.each([
  ['no headers', []],
  ['other headers', ['Host', 'h', 'X-Api-Key', key]],
  ['the name as the value of another header', ['X-Name', 'Authorization', 'X-Value', `Bearer ${key}`]],
  ['a proxy credential', ['Proxy-Authorization', `Bearer ${key}`]],
])('a key is missing with %s', (_name, rawHeaders) => {
  expect(parseCredential(rawHeaders)).toEqual({ outcome: 'missing_api_key' });
});

test.each([
  ['an empty header', ['Authorization', '']],
  ['a scheme without a key', ['Authorization', 'Bearer']],
  ['a key without a scheme', ['Authorization', key]],
  ['another scheme', ['Authorization', `Basic ${key}`]],
  ['a scheme that only begins with Bearer', ['Authorization', `Bearers ${key}`]],
  ['a tab after the scheme', ['Authorization', `Bearer\t${key}`]],
  ['two keys in one header', ['Authorization', `Bearer ${key} ${key}`]],
  ['a list', ['Authorization', `Bearer ${key}, Bearer ${key}`]],
  ['a typo', ['Authorization', `Bearer ${key.slice(0, -1)}7`]],
  ['a key in quotes', ['Authorization', `Bearer "${key}"`]],
  ['more than 256 characters', ['Authorization', `Bearer ${' '.repeat(256)}${key}`]],
  ['the header twice', ['Authorization', `Bearer ${key}`, 'Authorization', `Bearer ${key}`]],
  ['the header twice in different case', ['authorization', `Bearer ${key}`, 'AUTHORIZATION', 'Basic eA==']],
  ['an empty header before the key', ['Authorization', '', 'Authorization', `Bearer ${key}`]],
])('a credential is malformed with %s', (_name, rawHeaders) => {
  expect(parseCredential(rawHeaders)).toEqual({ outcome: 'malformed_api_key' });
});
