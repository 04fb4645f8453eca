import { expect, test } from 'vitest';
import { rangeOf, zoomedQuery } from '../../../../../../gateway/admin/console/browser/shown-range.ts';

const rangeIn = (query: string) => rangeOf(new URLSearchParams(query));
const from = Date.parse('2026-11-25T22:00:00Z') / 1000;

test('an address without a range shows the last hour, and an unknown one as well', () => {
  expect(rangeIn('')).toMatchObject({ isFree: false, search: 'last=1h', seconds: 3600 });
  expect(rangeIn('last=2h')).toEqual(rangeIn(''));
  expect(rangeIn('last=7d')).toMatchObject({ isFree: false, search: 'last=7d', seconds: 7 * 86_400 });
});

test('from and to come before last, as ISO 8601 in UTC for the API', () => {
  const range = rangeIn('last=7d&from=2026-11-25T22:00:00Z&to=2026-11-26T00:30:00%2B01:00');
  expect(range).toMatchObject({ isFree: true, from, to: from + 5400 });
  expect(new URLSearchParams(range.search).get('to')).toBe('2026-11-25T23:30:00Z');
});

test.each(['from=2026-11-25T22:00:00Z', 'from=x&to=y', 'from=2026-11-25T22:00:00Z&to=2026-11-25T22:00:00Z'])(
  '%s is no range',
  (query) => expect(rangeIn(query).isFree).toBe(false),
);

test('a range that is marked in a chart has at least two minutes, around its middle', () => {
  expect(zoomedQuery({ from, to: from + 600.4 })).toEqual({
    from: '2026-11-25T22:00:00Z',
    to: '2026-11-25T22:10:00Z',
  });
  expect(zoomedQuery({ from, to: from + 20 })).toEqual({
    from: '2026-11-25T21:59:10Z',
    to: '2026-11-25T22:01:10Z',
  });
});
