import { expect, test } from 'vitest';
import { nearestName } from '../../../../../gateway/platform/runtime/nearest-name.ts';

const plans = ['free', 'pro', 'business', 'anonymous', 'gold'];

test.each([
  ['buisness', 'business'],
  ['business', 'business'],
  ['por', 'pro'],
  ['golden', 'gold'],
  ['anonimous', 'anonymous'],
])('the nearest name to "%s" is %s', (text, nearest) => {
  expect(nearestName(text, plans)).toBe(nearest);
});

test('another name has no nearest one', () => {
  expect(nearestName('platinum', plans)).toBeUndefined();
  expect(nearestName('pro', [])).toBeUndefined();
});
