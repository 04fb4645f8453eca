import { expect, test } from 'vitest';
import {
  countRefusal,
  countRefused,
  formatRefusalRuns,
  parseRefusalRuns,
  refusalReason,
  type RefusalRun,
} from '../../../../gateway/quota/refusal-runs.ts';

const window = { limit: 1, remaining: 0, resetMs: 1000 };

test('refused requests are one run for each reason, from the first to the last', () => {
  const runs: RefusalRun[] = [];
  countRefusal(runs, 'minute', 5000);
  countRefusal(runs, 'ban', 6000);
  countRefusal(runs, 'minute', 7000);
  // Decided before, and counted after it.
  countRefusal(runs, 'minute', 4000);
  expect(runs).toEqual([
    { fromMs: 4000, toMs: 7000, refused: 3, reason: 'minute' },
    { fromMs: 6000, toMs: 6000, refused: 1, reason: 'ban' },
  ]);
  expect(countRefused(runs)).toBe(4);
});

test('the reason is the window that decides, or the ban, also for the request that leads to it', () => {
  const limited = {
    outcome: 'limited',
    violated: 'day',
    windows: { minute: window, day: window },
    nowMs: 0,
  } as const;
  const ban = {
    outcome: 'banned',
    limits: { minute: 1, day: 1 },
    remainingMs: 1,
    nowMs: 0,
    isNew: true,
  } as const;
  expect([refusalReason(limited), refusalReason(ban)]).toEqual(['day', 'ban']);
});

test('runs are read as they were written, without the lines that were edited by hand', () => {
  const runs: RefusalRun[] = [
    { fromMs: 1795400000000, toMs: 1795400005000, refused: 12, reason: 'day' },
    { fromMs: 1795390000000, toMs: 1795390000000, refused: 1, reason: 'ban' },
  ];
  const text = formatRefusalRuns(runs);
  expect(text).toBe('1795400000000 1795400005000 12 day\n1795390000000 1795390000000 1 ban\n');
  expect(parseRefusalRuns(text)).toEqual(runs);
  expect(parseRefusalRuns(`1 2 3 eon\n-1 2 3 day\n1 2 day\n\n1 1e9 3 ban\n${text}9 9`)).toEqual(runs);
  // A clock may have fractions of a millisecond.
  expect(formatRefusalRuns([{ fromMs: 1.5, toMs: 2.7, refused: 1, reason: 'minute' }])).toBe(
    '1 2 1 minute\n',
  );
});
