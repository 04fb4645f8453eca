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
        labelNames: ['route', 'method', 'status'],
        buckets,
        registers: [reference],
      });
      for (const { route, method, status, plan, seconds, scrapeNext } of requests) {
        requestMetrics.count(route, method, status, plan, seconds);
        counter.inc({ route, method, status, plan });
        histogram.observe({ route, method, status }, seconds);
        if (scrapeNext) await own.metrics();
      }
      expect(sorted(await own.metrics())).toEqual(sorted(await reference.metrics()));
      expect(sorted(await metricsOfTwoWorkers(own))).toEqual(sorted(await metricsOfTwoWorkers(reference)));
    }),
    { numRuns: 100 },
  );
});

test('expected requests are shown at 0 before the first one, also when workers are merged', async () => {
  const registry = new Registry();
  const requests = createRequestMetrics(registry, buckets);
  const shown = async () => (await registry.metrics()).split('\n');
  const labels = 'route="/v1/pets",method="GET",status="5xx"';
  requests.expect({ operations: [{ route: '/v1/pets', method: 'GET' }], plans: ['none'] });
  expect(await shown()).toContain(`gateway_requests_total{${labels},plan="none"} 0`);
  expect(await shown()).toContain(`gateway_request_duration_seconds_count{${labels}} 0`);
  // A plan that appears later is combined with the operations, and nothing that was counted is lost.
  requests.count('/v1/pets', 'GET', '5xx', 'none', 0.1);
  requests.expect({ plans: ['gold'] });
  expect(await shown()).toContain(`gateway_requests_total{${labels},plan="gold"} 0`);
  expect(await shown()).toContain(`gateway_requests_total{${labels},plan="none"} 1`);
  const merged = (await metricsOfTwoWorkers(registry)).split('\n');
  expect(merged).toContain(`gateway_requests_total{${labels},plan="gold"} 0`);
  expect(merged).toContain(`gateway_request_duration_seconds_count{${labels}} 2`);
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
