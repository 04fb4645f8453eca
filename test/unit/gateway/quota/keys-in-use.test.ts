import { expect, test } from 'vitest';
import { createKeysInUse } from '../../../../gateway/quota/keys-in-use.ts';

test('keys are counted once a minute, by plan; refused ones also if a later request was served', () => {
  const reports: [string, { active: number; refused: number }][] = [];
  const keysInUse = createKeysInUse((plan, counts) => reports.push([plan, counts]));
  keysInUse.add('a', 'free', false);
  keysInUse.add('b', 'free', true);
  keysInUse.add('b', 'free', false);
  keysInUse.add('a', 'free', false);
  keysInUse.add('c', 'pro', true);
  keysInUse.endMinute();
  expect(reports.splice(0)).toEqual([
    ['free', { active: 2, refused: 1 }],
    ['pro', { active: 1, refused: 1 }],
  ]);
  // A plan that is no longer in use goes back to 0.
  keysInUse.add('a', 'free', true);
  keysInUse.endMinute();
  expect(reports).toEqual([
    ['free', { active: 1, refused: 1 }],
    ['pro', { active: 0, refused: 0 }],
  ]);
});

test('memory is bounded: of more than 100,000 keys of a minute, the first ones count', () => {
  let active = 0;
  const keysInUse = createKeysInUse((_plan, counts) => {
    active = counts.active;
  });
  for (let index = 0; index < 100_500; index += 1) keysInUse.add(`key_${index}`, 'free', false);
  keysInUse.endMinute();
  expect(active).toBe(100_000);
});
