import { expect, test } from 'vitest';
import { parseLimit, windowOverShadow } from '../../../../gateway/limits/limits.ts';
import { currentTitle } from '../../../../gateway/limits/windows.ts';

test.each(['1', '60', '1000000000'])('%j is a valid limit', (text) => {
  expect(parseLimit(text)).toBe(Number(text));
});

test.each([
  ...'0 -1 1000000001 99999999999999999999 060 1.5 1e3 0x10 60\n ٦٠ many'.split(' '),
  ' 60',
  '',
  null,
  undefined,
])('%j is not a valid limit', (text) => {
  expect(parseLimit(text)).toBeUndefined();
});

test('windows have titles', () => {
  expect((['minute', 'day'] as const).map(currentTitle)).toEqual(['This minute', 'Today (UTC)']);
});

test("a request is above a shadow limit if more is used than it allows, in windows that are the plan's", () => {
  const states = {
    minute: { limit: 60, remaining: 29, resetMs: 1 },
    day: { limit: 9, remaining: 9, resetMs: 1 },
  };
  expect(windowOverShadow(states, { minute: 30, day: 1 }, {})).toBe('minute');
  expect(windowOverShadow(states, { minute: 31, day: 1 }, {})).toBeUndefined();
  expect(windowOverShadow(states, { minute: 30, hour: 1 }, { minute: 60 })).toBeUndefined();
});
