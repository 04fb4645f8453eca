import { expect, test } from 'vitest';
import { livePoints } from '../../../../../../gateway/admin/console/browser/live-points.ts';

const end = Date.parse('2026-11-25T22:00:00Z') / 1000;
/** A second that ends so many seconds after the record. */
const second = (after: number, byStatus: Record<string, number>) => ({
  at: new Date((end + after) * 1000).toISOString(),
  seconds: 1,
  byStatus,
});

test('seconds after the end of the record are added up in its steps, and earlier ones are in it', () => {
  const seconds = [second(0, { '2xx': 100 }), second(0.5, { '2xx': 50 })];
  seconds.push(second(1, { '2xx': 3 }), second(10, { '2xx': 4, '4xx': 1 }), second(11.5, { '4xx': 2 }));
  expect(livePoints(seconds, end, 10)).toEqual([
    { at: '2026-11-25T22:00:00.000Z', seconds: 2, byStatus: { '2xx': 7, '4xx': 1 } },
    { at: '2026-11-25T22:00:10.000Z', seconds: 1, byStatus: { '4xx': 2 } },
  ]);
  expect(livePoints([], end, 10)).toEqual([]);
});
