import { expect, test } from 'vitest';
import { createMetrics } from '../../../../../gateway/platform/observability/metrics.ts';
import { renderMetrics, type MetricsSnapshot } from '../../../../../gateway/process/worker-messages.ts';

test('expected requests are shown at 0 before the first one, also when workers are merged', async () => {
  const { requests, registry } = createMetrics();
  const shown = async () => (await registry.metrics()).split('\n');
  const operation = 'route="/v1/pets",method="GET"';
  const labels = `${operation},status="5xx"`;
  requests.expect({ operations: [{ route: '/v1/pets', method: 'GET' }], plan: 'none' });
  expect(await shown()).toContain(`gateway_requests_total{${labels},plan="none"} 0`);
  expect(await shown()).toContain(`gateway_request_duration_seconds_count{${operation}} 0`);
  // A plan that appears later is combined with the operations, and nothing that was counted is lost.
  requests.count('/v1/pets', 'GET', '5xx', 'none', 0.1);
  requests.count('/v1/pets', 'GET', '2xx', 'none', 0.1);
  requests.expect({ plan: 'gold' });
  expect(await shown()).toContain(`gateway_requests_total{${labels},plan="gold"} 0`);
  expect(await shown()).toContain(`gateway_requests_total{${labels},plan="none"} 1`);
  const snapshot = JSON.stringify(await registry.getMetricsAsJSON());
  const parse = () => JSON.parse(snapshot) as MetricsSnapshot;
  const merged = (await renderMetrics([parse(), parse()])).split('\n');
  expect(merged).toContain(`gateway_requests_total{${labels},plan="gold"} 0`);
  expect(merged).toContain(`gateway_request_duration_seconds_count{${operation}} 2`);
});
