import { expect, test } from 'vitest';
import { parseLimit } from '../../../../gateway/limits/limits.ts';

test.each([
  ['1', 1],
  ['60', 60],
  ['1000000000', 1_000_000_000],
])('%j is a valid limit', (text, limit) => {
  expect(parseLimit(text)).toBe(limit);
});

test.each([
  '0',
  '-1',
  '1000000001',
  '99999999999999999999',
  '060',
  '1.5',
  '1e3',
  '0x10',
  ' 60',
  '60\n',
  '٦٠',
  'many',
  '',
  null,
  undefined,
])('%j is not a valid limit', (text) => {
  expect(parseLimit(text)).toBeUndefined();
});
