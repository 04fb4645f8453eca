import { describe, expect, test } from 'vitest';
import { fieldOf, windowNames } from '../../../../gateway/limits/windows.ts';
import { formatTrial, parseTrial, trialLimitsOf } from '../../../../gateway/plans/trial.ts';

const limitFields = windowNames.map((name) => fieldOf('trial', name));
const since = 1_795_000_000_000;
const texts = { trialMinute: '200', trialDay: '8000', trialSince: String(since) };
const range = 'is not a whole number from 1 to 1000000000, so the trial is off';

describe('the fields of a trial', () => {
  test.each([
    { name: 'both windows', trial: { minute: 200, day: 8000, since } },
    { name: 'the minute only', trial: { minute: 200, since } },
    { name: 'the day only', trial: { day: 8000, since } },
  ])('survive writing and reading: $name', ({ trial }) => {
    const stored = Object.fromEntries(Object.entries(formatTrial(trial)).filter(([, text]) => text !== ''));
    expect(parseTrial(stored)).toEqual({ trial, issues: [] });
  });

  test('are all removed without a trial', () => {
    const fields = [...limitFields, 'trialSince'];
    expect(formatTrial(undefined)).toEqual(Object.fromEntries(fields.map((field) => [field, ''])));
  });

  test.each([{}, { trialMinute: null, trialDay: null, trialSince: null }])('may be absent: %j', (absent) => {
    expect(parseTrial(absent)).toEqual({ trial: undefined, issues: [] });
  });

  test.each([
    { edited: { trialMinute: 'many' }, issues: [`trialMinute ${range}`] },
    { edited: { trialDay: '0' }, issues: [`trialDay ${range}`] },
    { edited: { trialMinute: '-1', trialDay: '1e3' }, issues: [`trialMinute ${range}`, `trialDay ${range}`] },
    { edited: { trialSince: null }, issues: ['trialSince is missing, so the trial is off'] },
    {
      edited: { trialSince: '2026-11-22' },
      issues: ['trialSince is not a time in Unix milliseconds, so the trial is off'],
    },
    {
      edited: { trialMinute: null, trialDay: null },
      issues: [`${limitFields.join(', ').replace(/, (\w+)$/, ' and $1')} are missing, so the trial is off`],
    },
  ])('switch the trial off if they are invalid: $edited', ({ edited, issues }) => {
    expect(parseTrial({ ...texts, ...edited })).toEqual({ trial: undefined, issues });
  });
});

describe('the limits on trial of a key', () => {
  const enforced = { minute: 300, day: 10_000 };
  const planTrial = { minute: 200, day: 8000, since };
  const own = { minute: 50, since: since + 1 };

  test.each([
    { name: 'no trial', key: {}, planTrial: undefined, expected: undefined },
    { name: "the plan's trial", key: {}, planTrial, expected: planTrial },
    {
      name: "a plan's trial of one window",
      key: {},
      planTrial: { day: 8000, since },
      expected: { minute: 300, day: 8000, since },
    },
    {
      name: "the plan's trial beside an own limit",
      key: { minute: 300 },
      planTrial,
      expected: { minute: 300, day: 8000, since },
    },
    { name: 'own limits in both windows', key: enforced, planTrial, expected: undefined },
    {
      name: 'an own limit in the only window of the trial',
      key: { day: 10_000 },
      planTrial: { day: 8000, since },
      expected: undefined,
    },
    {
      name: 'an own trial before the plan',
      key: { trial: own },
      planTrial,
      expected: { minute: 50, day: 10_000, since: since + 1 },
    },
    {
      name: 'an own trial before own limits',
      key: { ...enforced, trial: own },
      planTrial: undefined,
      expected: { minute: 50, day: 10_000, since: since + 1 },
    },
  ])('$name', ({ key, planTrial, expected }) => {
    expect(trialLimitsOf(key, planTrial, enforced)).toEqual(expected);
  });
});
