import { describe, expect, test } from 'vitest';
import { recordedCounts } from '../support/checks/traffic-record.ts';
import { startGatewayFleet } from '../support/kits/gateway-fleet.ts';
import { openLive } from '../support/kits/live-kit.ts';
import { startRedisCluster } from '../support/stores/redis-cluster.ts';

describe('the record of traffic', { tags: ['redis-server'], timeout: 180_000 }, () => {
  test('is kept and shown in a Redis Cluster', async () => {
    await using cluster = await startRedisCluster();
    await using fleet = await startGatewayFleet(cluster.url, 2, () => ({ GATEWAY_WORKERS: '2' }));
    const { key } = await fleet.issue({ plan: 'business' });
    for (let turn = 0; turn < 60; turn += 1) expect((await fleet.pets(key, turn)).status).toBe(200);
    await expect
      .poll(() => recordedCounts(fleet.redis), { timeout: 20_000, interval: 100 })
      .toEqual({ '2xx:business': 60 });
    const live = await openLive(fleet.redis, { adminUrl: fleet.gateways[0]?.adminUrl ?? '' });
    expect((await live.read()).recent.requests).toBe(60);
  });
});
