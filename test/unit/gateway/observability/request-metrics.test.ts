import fc from 'fast-check';
import { Counter, Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { PrelabelledHistogram } from '../../../../gateway/observability/prelabelled-histogram.ts';
import { createRequestMetrics } from '../../../../gateway/observability/request-metrics.ts';
import { renderMetrics, type MetricsSnapshot } from '../../../../gateway/workers/merge-metrics.ts';

const buckets = [0.005, 0.01, 0.25, 1, 10];
const seconds = fc.oneof(fc.constantFrom(0, ...buckets), fc.double({ min: 0, max: 20, noNaN: true }));
const sorted = (text: string) => text.split('\n').toSorted();

test('requests are shown as by the counter and histogram of prom-client, whenever they are asked for', async () => {
  const request = fc.record({
    route: fc.constantFrom('/v1/pets', '/v1/pets/{petId}', 'unmatched'),
    method: fc.constantFrom('GET', 'POST'),
    status: fc.constantFrom('2xx', '4xx', 'aborted'),
    plan: fc.constantFrom('free', 'a "quoted" one', 'none'),
    seconds,
    askedNext: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(request), async (requests) => {
      const [own, theirs] = [new Registry(), new Registry()];
      const counts = createRequestMetrics(own, buckets);
      const counter = new Counter({
        name: 'gateway_requests_total',
        help: 'Requests by class of status; aborted by the client, or cut off by the gateway',
        labelNames: ['route', 'method', 'status', 'plan'],
        registers: [theirs],
      });
      const histogram = new Histogram({
        name: 'gateway_request_duration_seconds',
        help: 'Time from a request to the end of its response',
        labelNames: ['route', 'method'],
        buckets,
        registers: [theirs],
      });
      for (const { route, method, status, plan, seconds, askedNext } of requests) {
        counts.count(route, method, status, plan);
        counts.observe(route, method, seconds);
        counter.inc({ route, method, status, plan });
        histogram.observe({ route, method }, seconds);
        if (askedNext) await own.metrics();
      }
      expect(sorted(await own.metrics())).toEqual(sorted(await theirs.metrics()));
      // As workers send them to the process that shows them.
      expect(sorted(await twoWorkers(own))).toEqual(sorted(await twoWorkers(theirs)));
    }),
    { numRuns: 100 },
  );
});

test('a histogram without labels is there before anything is observed', async () => {
  const [own, theirs] = [new Registry(), new Registry()];
  const options = { name: 'seconds', help: 'for', buckets };
  const observations = new PrelabelledHistogram({ ...options, registers: [own] }).child({});
  const histogram = new Histogram({ ...options, registers: [theirs] });
  expect(await own.metrics()).toBe(await theirs.metrics());
  observations.observe(0.25);
  histogram.observe(0.25);
  expect(await own.metrics()).toBe(await theirs.metrics());
});

/** As if two of them had counted the same. */
async function twoWorkers(registry: Registry): Promise<string> {
  const text = JSON.stringify(await registry.getMetricsAsJSON());
  const sent = () => JSON.parse(text) as MetricsSnapshot;
  return renderMetrics([sent(), sent()]);
}
