import { expect, test } from 'vitest';
import { createMetrics } from '../../../../gateway/platform/observability/metrics.ts';
import { createRecentMeasures } from '../../../../gateway/quota/recent-measures.ts';

const nothing = {
  byStatus: {},
  refused: {},
  unauthenticated: 0,
  bans: 0,
  durations: {},
  redisP99Ms: null,
  upstreamP99Ms: null,
  errors: {},
};

test('counts, p99 and errors are those of the last minute, and a p99 of few is none', async () => {
  const metrics = createMetrics();
  let nowMs = 0;
  const upstreamSeconds = metrics.upstreamSeconds.labels({ service: 'pets' });
  metrics.upstreamSeconds.zero({ service: 'idle' });
  const read = createRecentMeasures(metrics, () => nowMs);
  expect(await read()).toEqual(nothing);
  for (let count = 0; count < 98; count += 1) metrics.redisSeconds.observe(0.0004);
  upstreamSeconds.observe(5);
  metrics.errors.inc({ code: 'upstream_timeout' }, 3);
  metrics.requests.count('/v1/pets', 'GET', '2xx', 'free', 0.004);
  metrics.requests.count('/v1/pets', 'GET', '4xx', 'free', 0.001);
  metrics.requests.count('/v1/pets', 'GET', '4xx', 'none', 0.001);
  metrics.quotaRefusals.inc({ plan: 'free', window: 'day' });
  metrics.unauthenticatedRequests.inc({ plan: 'anonymous' });
  metrics.bans.inc({ plan: 'free' }, 2);
  nowMs += 5000;
  expect(await read()).toEqual({
    ...nothing,
    byStatus: { '2xx': 1, '4xx': 2 },
    refused: { free: 1 },
    unauthenticated: 1,
    bans: 2,
    durations: { 5: 1 },
    errors: { upstream_timeout: 3 },
  });
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
  expect(await read()).toEqual(nothing);
});
