import { expect, test } from 'vitest';
import { createMetrics } from '../../../../gateway/observability/metrics.ts';
import { createRecentMeasures } from '../../../../gateway/traffic/recent-measures.ts';

test('p99 and errors are those of the last minute, and a p99 of few is none', async () => {
  const metrics = createMetrics({ droppedLogLines: () => 0 });
  let nowMs = 0;
  const upstreamSeconds = metrics.upstreamSeconds.child({ service: 'pets' });
  metrics.upstreamSeconds.child({ service: 'idle' });
  const read = createRecentMeasures(metrics, () => nowMs);
  expect(await read()).toEqual({ redisP99Ms: null, upstreamP99Ms: null, errors: {} });
  for (let count = 0; count < 98; count += 1) metrics.redisSeconds.observe(0.0004);
  upstreamSeconds.observe(5);
  metrics.errors.inc({ code: 'upstream_timeout' }, 3);
  nowMs += 5000;
  expect(await read()).toEqual({ redisP99Ms: null, upstreamP99Ms: null, errors: { upstream_timeout: 3 } });
  for (let count = 0; count < 2; count += 1) metrics.redisSeconds.observe(0.09);
  for (let count = 0; count < 100; count += 1) upstreamSeconds.observe(0.3);
  nowMs += 5000;
  const { redisP99Ms, upstreamP99Ms } = await read();
  expect(redisP99Ms).toBeGreaterThan(50);
  expect(redisP99Ms).toBeLessThanOrEqual(100);
  expect(upstreamP99Ms).toBeGreaterThan(250);
  // All of it is more than a minute old.
  for (let step = 0; step < 14; step += 1) {
    nowMs += 5000;
    await read();
  }
  expect(await read()).toEqual({ redisP99Ms: null, upstreamP99Ms: null, errors: {} });
});
