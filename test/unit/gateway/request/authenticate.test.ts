import { expect, test } from 'vitest';
import { parseCredential } from '../../../../gateway/request/authenticate.ts';

const key = 'pets_0123456789ABCDEFGHIJKLMNOPQRSTUV44pYd6';

test.each([
  ['no headers', []],
  ['other headers', ['Host', 'h', 'X-Api-Key', key]],
  ['the name as the value of another header', ['X-Name', 'Authorization', 'X-Value', `Bearer ${key}`]],
  ['a proxy credential', ['Proxy-Authorization', `Bearer ${key}`]],
])('a key is missing with %s', (_name, rawHeaders) => {
  expect(parseCredential(rawHeaders)).toEqual({ outcome: 'missing_api_key' });
});

test.each([
  ['alone', ['X-API-Key', key], 'key'],
  ['beside the same in Authorization', ['Authorization', `Bearer ${key}`, 'x-api-key', key], 'key'],
  ['beside another one', ['Authorization', `Bearer ${key}0`, 'x-api-key', key], 'bad_request'],
  ['beside other credentials', ['Authorization', 'Basic YTpi', 'x-api-key', key], 'bad_request'],
  ['twice', ['x-api-key', key, 'x-api-key', key], 'malformed_api_key'],
  ['with the word Bearer', ['x-api-key', `Bearer ${key}`], 'malformed_api_key'],
])('a header of its own may hold the key %s', (_name, rawHeaders, outcome) => {
  expect(parseCredential(rawHeaders, 'x-api-key')).toMatchObject({ outcome });
});

const messages = {
  repeated: 'The Authorization header must be given only once.',
  tooLong: 'The Authorization header has more than 256 characters.',
  scheme: 'The Authorization header must begin with the word Bearer and a space.',
  token: 'After the word Bearer, the Authorization header must hold one API key.',
  form: 'An API key is pets_ with 38 letters and digits after it, without quotes.',
  checksum: 'The API key has a typing error: its last six characters do not fit the others.',
};

test.each([
  ['an empty header', ['Authorization', ''], messages.scheme],
  ['a scheme without a key', ['Authorization', 'Bearer'], messages.token],
  ['a key without a scheme', ['Authorization', key], messages.scheme],
  ['two keys in one header', ['Authorization', `Bearer ${key} ${key}`], messages.token],
  ['a typo', ['Authorization', `Bearer ${key.slice(0, -1)}7`], messages.checksum],
  ['a part of a key', ['Authorization', `Bearer ${key.slice(0, -1)}`], messages.form],
  ['a key in quotes', ['Authorization', `Bearer "${key}"`], messages.form],
  ['more than 256 characters', ['Authorization', `Bearer ${' '.repeat(256)}${key}`], messages.tooLong],
  [
    'the header twice',
    ['Authorization', `Bearer ${key}`, 'Authorization', `Bearer ${key}`],
    messages.repeated,
  ],
])('a credential is malformed with %s, and the message says why', (_name, rawHeaders, message) => {
  expect(parseCredential(rawHeaders)).toEqual({ outcome: 'malformed_api_key', message });
});
