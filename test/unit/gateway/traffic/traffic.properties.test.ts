import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMetrics } from '../../../../gateway/observability/metrics.ts';
import { countsSince, readTrafficCounters } from '../../../../gateway/traffic/traffic-counters.ts';
import {
  formatField,
  parseField,
  type TrafficCounts,
  type TrafficField,
} from '../../../../gateway/traffic/traffic-fields.ts';

const plan = fc.constantFrom('free', 'pro:2', '', '__proto__', 'umläut', 'none');
const status = fc.constantFrom('2xx', '4xx', '5xx', 'aborted', 'cut_off');

test('a field is parsed to what it was formatted from', () => {
  const kind = fc.constantFrom('requests', 'refusals', 'bans', 'bannedRequests');
  fc.assert(
    fc.property(fc.record({ kind, status, name: fc.string({ maxLength: 64 }) }), (field: TrafficField) => {
      expect(parseField(formatField(field))).toEqual(field);
    }),
  );
});

test('a name that is too long for a field counts among all further plans', () => {
  const field = formatField({ kind: 'bans', status: '', name: 'x'.repeat(65) });
  expect(parseField(field)).toEqual({ kind: 'bans', status: '', name: '' });
});

test.each(['', 'x', 'free', 'z2xx:free', 't2xx:soon', 't2xx:', '2xx:free'])(
  '%o is not a field of the record',
  (field) => {
    expect(parseField(field)).toBeUndefined();
  },
);

const event = fc.oneof(
  fc.record({
    type: fc.constant('request'),
    status,
    plan,
    seconds: fc.double({ min: 0, max: 60, noNaN: true }),
  }),
  fc.record({ type: fc.constant('raw'), status, plan }),
  fc.record({ type: fc.constantFrom('minute', 'day', 'ban', 'banned', 'local'), plan }),
  fc.record({ type: fc.constantFrom('report', 'scrape'), plan }),
);

test('what is reported adds up to the counters, whenever they are read or scraped', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 60 }), async (events) => {
      const metrics = createMetrics({ droppedLogLines: () => 0 });
      const reported: TrafficCounts = new Map();
      const expected: TrafficCounts = new Map();
      let last: TrafficCounts = new Map();
      const expectOne = (kind: TrafficField['kind'], name: string, ofStatus = '') => {
        const field = formatField({ kind, status: ofStatus, name });
        expected.set(field, (expected.get(field) ?? 0) + 1);
      };
      const report = async () => {
        const counts = await readTrafficCounters(metrics);
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
            expectOne('requests', each.plan, each.status);
            if ('seconds' in each) expectOne('durations', boundOf(each.seconds), each.status);
            break;
          case 'minute':
          case 'day':
            metrics.quotaRefusals.inc({ plan: each.plan, window: each.type });
            expectOne('refusals', each.plan, each.type);
            break;
          case 'ban':
            metrics.bans.inc({ plan: each.plan });
            expectOne('bans', each.plan);
            break;
          case 'banned':
            metrics.bannedRequests.inc({ plan: each.plan });
            expectOne('bannedRequests', each.plan);
            break;
          case 'local':
            metrics.localDecisions.inc({ plan: each.plan });
            expectOne('localDecisions', each.plan);
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
      expect(countsSince(last, await readTrafficCounters(metrics))).toEqual(new Map());
    }),
    { numRuns: 50 },
  );
});

/** Name of the bucket of a duration. */
function boundOf(seconds: number): string {
  const bounds = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000];
  return String(bounds.find((ms) => seconds <= ms / 1000) ?? 'inf');
}
