import { expect, test } from 'vitest';
import { createIsProxy } from '../../../../../gateway/platform/http/client-address.ts';

test.each([
  ['10.1.2.3', true],
  ['10.255.0.1', true],
  ['11.0.0.1', false],
  ['192.0.2.7', true],
  ['192.0.2.8', false],
  ['fd00::1', true],
  ['fe00::1', false],
  ['127.0.0.1', false],
  ['', false],
  ['unix:', false],
  ['10.1.2.3.4', false],
])('%j: %j, the second time as well', (address, expected) => {
  const isProxy = createIsProxy(['10.0.0.0/8', '192.0.2.7', 'fd00::/8']);
  expect([isProxy(address), isProxy(address)]).toEqual([expected, expected]);
});

test('nobody is trusted unless it is named', () => {
  expect(createIsProxy([])('127.0.0.1')).toBe(false);
});

test('more addresses than are remembered change no answer', () => {
  const isProxy = createIsProxy(['10.0.0.0/8']);
  const addresses = Array.from({ length: 25_000 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
  expect(addresses.every(isProxy)).toBe(true);
  expect(addresses.map((address) => address.replace('10.', '11.')).some(isProxy)).toBe(false);
  expect(addresses.every(isProxy)).toBe(true);
});
