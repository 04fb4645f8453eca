import { expect, test } from 'vitest';
import { settingsOf } from '../../../../../gateway/control/plans/plans-file-diff.ts';
import { diffSettings, removalOf } from '../../../../../gateway/control/plans/settings.ts';
import { planSetting } from '../../../../../gateway/quota/plan-settings.ts';

const plans = (limits: { minute: number; day: number }) => settingsOf({ plans: { pro: limits } });

test('a setting that is stored as in the file is no change', () => {
  const stored = new Map([['gw:plan:pro', { day: '20', minute: '10', other: 'kept' }]]);
  expect(diffSettings(stored, plans({ minute: 10, day: 20 }))).toEqual([]);
});

test('only fields that differ are written, and only those of the file are shown', () => {
  const stored = { minute: '10', day: '20', other: 'kept' };
  expect(diffSettings(new Map([['gw:plan:pro', stored]]), plans({ minute: 11, day: 20 }))).toEqual([
    {
      ...planSetting('pro'),
      before: { minute: 10, day: 20 },
      after: { minute: 11, day: 20 },
      stored,
      written: { minute: '11' },
    },
  ]);
});

test('a plan that is not stored is new, and a value that was edited by hand is shown as it is', () => {
  const limits = { minute: 1, day: 2 };
  expect(diffSettings(new Map(), plans(limits))).toMatchObject([{ before: null, after: limits, stored: {} }]);
  const edited = new Map([['gw:plan:pro', { minute: '01', day: 'many' }]]);
  expect(diffSettings(edited, plans(limits))).toMatchObject([{ before: { minute: '01', day: 'many' } }]);
});

test('a removal removes every field', () => {
  const stored = { minute: '1', day: '2', other: 'x' };
  expect(removalOf(planSetting('pro'), stored)).toMatchObject({
    action: 'plans.remove',
    before: { minute: 1, day: 2 },
    after: null,
    written: { minute: '', day: '', other: '' },
  });
});
