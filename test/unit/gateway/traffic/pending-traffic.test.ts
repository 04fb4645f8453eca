import { expect, test } from 'vitest';
import { createPendingTraffic } from '../../../../gateway/traffic/pending-traffic.ts';
import { groupByKey } from '../../../../gateway/traffic/traffic-buckets.ts';
import { formatField, maxFields } from '../../../../gateway/traffic/traffic-fields.ts';

const startMs = Date.UTC(2026, 10, 22, 12, 0, 50);
const requests = (plan: string) => formatField({ kind: 'requests', status: '2xx', name: plan });
const one = (plan = 'free') => new Map([[requests(plan), 1]]);

test('traffic is in the bucket of its ten seconds, and of its minute', () => {
  const pending = createPendingTraffic();
  pending.add(startMs + 12_000, one());
  pending.add(startMs, one());
  pending.add(startMs + 9999, one());
  const buckets = pending.take();
  expect(buckets).toEqual([
    { startMs, counts: new Map([[requests('free'), 2]]) },
    { startMs: startMs + 10_000, counts: one() },
  ]);
  const seconds = startMs / 1000;
  expect(groupByKey(buckets).map(({ key, counts }) => [key, counts.get(requests('free'))])).toEqual([
    [`gw:{traffic}:10s:${seconds}`, 2],
    [`gw:{traffic}:10s:${seconds + 10}`, 1],
    [`gw:{traffic}:1m:${seconds - 50}`, 2],
    [`gw:{traffic}:1m:${seconds + 10}`, 1],
  ]);
  expect(pending.take()).toEqual([]);
});

test('nothing is pending without traffic', () => {
  const pending = createPendingTraffic();
  pending.add(startMs, new Map());
  expect(pending.take()).toEqual([]);
});

test('an hour of an outage is reported in parts, oldest first', () => {
  const pending = createPendingTraffic();
  const buckets = 360;
  for (let index = buckets - 1; index >= 0; index -= 1) pending.add(startMs + index * 10_000, one());
  expect(pending.requests()).toBe(buckets);
  const reports = Array.from({ length: 12 }, () => pending.take());
  expect(reports.map(({ length }) => length)).toEqual(Array(12).fill(30));
  expect(reports.flat().map((bucket) => bucket.startMs)).toEqual(
    Array.from({ length: buckets }, (_, index) => startMs + index * 10_000),
  );
  expect(pending.requests()).toBe(0);
});

test('a report has a bounded number of fields', () => {
  const pending = createPendingTraffic();
  for (let plan = 0; plan < 450; plan += 1) {
    for (let index = 0; index < 30; index += 1) pending.add(startMs + index * 10_000, one(`plan-${plan}`));
  }
  expect(pending.take()).toHaveLength(4);
});

test('buckets from before a time are dropped, and their requests counted', () => {
  const pending = createPendingTraffic();
  for (let index = 0; index < 4; index += 1) pending.add(startMs + index * 10_000, one());
  expect(pending.dropBefore(startMs + 20_000)).toBe(2);
  expect(pending.take().map((bucket) => bucket.startMs)).toEqual([startMs + 20_000, startMs + 30_000]);
});

test('plans beyond the maximum share a field; durations still have their own', () => {
  const pending = createPendingTraffic();
  const plans = 2 * maxFields;
  for (let plan = 0; plan < plans; plan += 1) pending.add(startMs, one(`plan-${plan}`));
  const duration = formatField({ kind: 'durations', status: '2xx', name: '5' });
  pending.add(startMs, new Map([[duration, plans]]));
  const counts = pending.take()[0]?.counts ?? new Map<string, number>();
  expect(counts.size).toBe(maxFields + 2);
  expect(counts.get(requests(''))).toBe(plans - maxFields);
  expect(counts.get(duration)).toBe(plans);
});
