import fc from 'fast-check';
import { Counter, Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { PrelabelledHistogram } from '../../../../gateway/observability/prelabelled-histogram.ts';
import { createRequestMetrics } from '../../../../gateway/observability/request-metrics.ts';
import { renderMetrics, type MetricsSnapshot } from '../../../../gateway/workers/merge-metrics.ts';

const buckets = [0.005, 0.01, 0.25, 1, 10];
const seconds = fc.oneof(fc.constantFrom(0, ...buckets), fc.double({ min: 0, max: 20, noNaN: true }));
/** Lines of metrics. Sums are rounded: they are added up in another order. */
const sorted = (text: string) =>
  text
    .split('\n')
    .map((line) => line.replace(/(?<=_sum\S* ).+/, (sum) => Number(sum).toPrecision(12)))
    .toSorted();

test("metrics equal those of prom-client's counter and histogram, at any time of a scrape", async () => {
  const request = fc.record({
    route: fc.constantFrom('/v1/pets', '/v1/pets/{petId}', 'unmatched'),
    method: fc.constantFrom('GET', 'POST'),
    status: fc.constantFrom('2xx', '4xx', 'aborted'),
    plan: fc.constantFrom('free', 'a "quoted" one', 'none'),
    seconds,
    scrapeNext: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(request), async (requests) => {
      const [own, reference] = [new Registry(), new Registry()];
      const requestMetrics = createRequestMetrics(own, buckets);
      const counter = new Counter({
        name: 'gateway_requests_total',
        help: 'Requests by status class; aborted by the client, or cut off by the gateway',
        labelNames: ['route', 'method', 'status', 'plan'],
        registers: [reference],
      });
      const histogram = new Histogram({
        name: 'gateway_request_duration_seconds',
        help: 'Duration of a request, to the end of its response',
        labelNames: ['route', 'method'],
        buckets,
        registers: [reference],
      });
      for (const { route, method, status, plan, seconds, scrapeNext } of requests) {
        requestMetrics.count(route, method, status, plan, seconds);
        counter.inc({ route, method, status, plan });
        histogram.observe({ route, method }, seconds);
        if (scrapeNext) await own.metrics();
      }
      expect(sorted(await own.metrics())).toEqual(sorted(await reference.metrics()));
      expect(sorted(await metricsOfTwoWorkers(own))).toEqual(sorted(await metricsOfTwoWorkers(reference)));
    }),
    { numRuns: 100 },
  );
});

test('a histogram without labels is exposed before its first observation', async () => {
  const [own, reference] = [new Registry(), new Registry()];
  const options = { name: 'seconds', help: 'for', buckets };
  const observations = new PrelabelledHistogram({ ...options, registers: [own] }).child({});
  const histogram = new Histogram({ ...options, registers: [reference] });
  expect(await own.metrics()).toBe(await reference.metrics());
  observations.observe(0.25);
  histogram.observe(0.25);
  expect(await own.metrics()).toBe(await reference.metrics());
});

/** Merged metrics of two workers with the same counts. */
async function metricsOfTwoWorkers(registry: Registry): Promise<string> {
  const text = JSON.stringify(await registry.getMetricsAsJSON());
  const snapshot = () => JSON.parse(text) as MetricsSnapshot;
  return renderMetrics([snapshot(), snapshot()]);
}
