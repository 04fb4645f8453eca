import { expect, test } from 'vitest';
import { createIsProxy } from '../../../../../gateway/platform/http/addresses.ts';

test.each([
  ['10.1.2.3', true],
  ['11.0.0.1', false],
  ['192.0.2.7', true],
  ['fd00::1', true],
  ['127.0.0.1', false],
  ['', false],
])('%j: %j, the second time as well', (address, expected) => {
  const isProxy = createIsProxy(['10.0.0.0/8', '192.0.2.7', 'fd00::/8']);
  expect([isProxy(address), isProxy(address)]).toEqual([expected, expected]);
});

test('nobody is trusted unless it is named', () => {
  expect(createIsProxy([])('127.0.0.1')).toBe(false);
});
