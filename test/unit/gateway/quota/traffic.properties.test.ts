import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMetrics } from '../../../../gateway/platform/observability/metrics.ts';
import { countsSince, readTrafficCounts, type TrafficCounts } from '../../../../gateway/quota/traffic.ts';

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
      const reported: TrafficCounts = new Map();
      const expected: TrafficCounts = new Map();
      let last: TrafficCounts = new Map();
      const expectOne = (field: string) => expected.set(field, (expected.get(field) ?? 0) + 1);
      const report = async () => {
        const counts = await readTrafficCounts(metrics);
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
            expectOne(`${each.status}:${each.plan}`);
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
      expect(countsSince(last, await readTrafficCounts(metrics))).toEqual(new Map());
    }),
    { numRuns: 50 },
  );
});

/** Name of the bucket of a duration. */
function boundOf(seconds: number): string {
  const bounds = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000];
  return String(bounds.find((ms) => seconds <= ms / 1000) ?? 'inf');
}
