import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMetrics } from '../../../../gateway/platform/observability/metrics.ts';
import { countsSince, readCounts, type Counts } from '../../../../gateway/quota/traffic.ts';

const plan = fc.constantFrom('free', 'pro:2', '', '__proto__', 'umläut', 'none');
const status = fc.constantFrom('2xx', '4xx', '5xx', 'aborted', 'cut_off');

const event = fc.oneof(
  fc.record({
    type: fc.constant('request'),
    status,
    plan,
    seconds: fc.double({ min: 0, max: 60, noNaN: true }),
  }),
  fc.record({ type: fc.constant('raw'), status, plan }),
  fc.record({ type: fc.constantFrom('minute', 'day', 'banned'), plan }),
  fc.record({ type: fc.constantFrom('report', 'scrape'), plan }),
);

test('what is reported adds up to the counters, whenever they are read or scraped', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 60 }), async (events) => {
      const metrics = createMetrics();
      const reported: Counts = new Map();
      const expected: Counts = new Map();
      let last: Counts = new Map();
      const expectOne = (field: string) => expected.set(field, (expected.get(field) ?? 0) + 1);
      const report = async () => {
        const counts = await readCounts(metrics);
        for (const [field, count] of countsSince(last, counts)) {
          reported.set(field, (reported.get(field) ?? 0) + count);
        }
        last = counts;
      };
      for (const each of events) {
        switch (each.type) {
          case 'request':
          case 'raw':
            if (!('status' in each)) break;
            metrics.requests.count(
              '/v1/pets',
              'GET',
              each.status,
              each.plan,
              'seconds' in each ? each.seconds : undefined,
            );
            expectOne(`status:${each.status}`);
            if ('seconds' in each && each.status === '2xx') expectOne(`ms:${boundOf(each.seconds)}`);
            break;
          case 'minute':
          case 'day':
            metrics.quotaRefusals.inc({ plan: each.plan, window: each.type });
            expectOne(`refused:${each.plan}`);
            break;
          case 'banned':
            metrics.bannedRequests.inc({ plan: each.plan });
            expectOne(`refused:${each.plan}`);
            break;
          case 'report':
            await report();
            break;
          case 'scrape':
            await metrics.registry.metrics();
            break;
        }
      }
      await report();
      expect(reported).toEqual(expected);
      expect(countsSince(last, await readCounts(metrics))).toEqual(new Map());
    }),
    { numRuns: 50 },
  );
});

test('buckets are counted alone, those of each set of labels', async () => {
  const metrics = createMetrics();
  const { upstreamSeconds } = metrics;
  for (const seconds of [0.002, 0.002, 0.02, 60]) upstreamSeconds.observe({ service: 'pets' }, seconds);
  upstreamSeconds.observe({ service: 'orders' }, 0.002);
  expect(Object.fromEntries(await readCounts(metrics))).toEqual({
    'upstream pets:2.5': 2,
    'upstream pets:25': 1,
    'upstream pets:inf': 1,
    'upstream orders:2.5': 1,
  });
});

/** Name of the bucket of a duration. */
function boundOf(seconds: number): string {
  const bounds = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000];
  return String(bounds.find((ms) => seconds <= ms / 1000) ?? 'inf');
}
