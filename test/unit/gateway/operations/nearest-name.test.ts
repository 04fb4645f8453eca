import { expect, test } from 'vitest';
import { nearestName } from '../../../../gateway/operations/nearest-name.ts';

const plans = ['free', 'pro', 'business', 'anonymous', 'gold'];

test.each([
  ['buisness', 'business'],
  ['business', 'business'],
  ['por', 'pro'],
  ['golden', 'gold'],
  ['anonimous', 'anonymous'],
  ['', 'pro'],
])('the nearest name to "%s" is %s', (text, nearest) => {
  expect(nearestName(text, plans)).toBe(nearest);
});

test('without names there is no nearest one', () => {
  expect(nearestName('pro', [])).toBeUndefined();
});
