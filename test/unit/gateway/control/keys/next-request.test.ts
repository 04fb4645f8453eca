import { expect, test } from 'vitest';
import { nextRequest, refusedForGood } from '../../../../../gateway/control/keys/next-request.ts';

const window = (used: number, limit: number | null, resetsAt: string) => ({
  used,
  limit,
  remaining: limit === null ? null : Math.max(0, limit - used),
  resetsAt,
});
const minute = (used: number, limit: number | null = 60) => window(used, limit, '2026-11-23T14:32:10.000Z');
const day = (used: number, limit: number | null = 1000) => window(used, limit, '2026-11-24T00:00:00.000Z');

test('a key below both limits is served', () => {
  expect(nextRequest({ ban: null, windows: { minute: minute(59), day: day(999) } })).toEqual({
    served: true,
    message: 'served: 59 of 60 used this minute, 999 of 1,000 used today',
  });
});

test.each([
  ['minute', minute(60), day(60), 'refused until 14:32:10 UTC: 60 of 60 used this minute'],
  ['day', minute(3), day(1200), 'refused until 00:00:00 UTC: 1,200 of 1,000 used today'],
  // A retry succeeds only when both have ended.
  ['day', minute(60), day(1000), 'refused until 00:00:00 UTC: 1,000 of 1,000 used today'],
  ['no_limits', minute(0, null), day(0), 'refused: no minute limit is known for this key'],
  ['no_limits', minute(0), day(0, null), 'refused: no day limit is known for this key'],
])('a key over its limit is refused until a retry succeeds: %s', (reason, minute, day, message) => {
  expect(nextRequest({ ban: null, windows: { minute, day } })).toMatchObject({
    served: false,
    reason,
    message: expect.stringContaining(message),
  });
});

test('of two full windows, the minute decides if it ends after the day', () => {
  const lateMinute = window(60, 60, '2026-11-24T00:00:30.000Z');
  expect(nextRequest({ ban: null, windows: { minute: lateMinute, day: day(1000) } })).toMatchObject({
    reason: 'minute',
  });
});

test('a ban comes before the windows', () => {
  const ban = { endsAt: '2026-11-23T15:00:00.000Z', reason: 'unpaid' };
  expect(nextRequest({ ban, windows: { minute: minute(60), day: day(0) } })).toEqual({
    served: false,
    reason: 'ban',
    until: ban.endsAt,
    message: 'refused until 15:00:00 UTC: banned (unpaid)',
    why: 'banned (unpaid)',
  });
});

test('a key that is not valid is refused without an end', () => {
  expect(refusedForGood('revoked', '2026-11-20T00:00:00Z')).toMatchObject({
    served: false,
    until: null,
    message: 'refused: revoked at 2026-11-20T00:00:00Z',
  });
});
