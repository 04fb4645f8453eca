import { describe, expect, test } from 'vitest';
import { dayNumberOf } from '../../gateway/limits/utc-day.ts';
import type { CustomerId } from '../../gateway/platform/redis/redis-keys.ts';
import { readUsageDays } from '../../gateway/quota/usage-days.ts';
import { startGatewayFleet, type GatewayFleet } from '../support/kits/gateway-fleet.ts';
import { runOps } from '../support/kits/service.ts';
import { startRedisCluster } from '../support/stores/redis-cluster.ts';

/** Sum of today and yesterday, because the test may run across midnight. */
async function recorded({ redis }: GatewayFleet, customerId: CustomerId) {
  const today = dayNumberOf(Date.now());
  const days = await readUsageDays(redis, customerId, { first: today - 1, last: today, oldest: 0 });
  const sum = (field: 'served' | 'refused') => days.reduce((total, day) => total + day[field], 0);
  return { served: sum('served'), refused: sum('refused') };
}

describe('the record of use of two gateways', { tags: ['redis-server'], timeout: 120_000 }, () => {
  test('is exact on a Redis Cluster, and exported from all shards', async () => {
    await using cluster = await startRedisCluster();
    await using fleet = await startGatewayFleet(cluster.url, 2);
    const keys = await Promise.all(Array.from({ length: 9 }, () => fleet.issue({ minute: 4 })));
    await Promise.all(
      keys.flatMap(({ key }) => Array.from({ length: 10 }, (_, turn) => fleet.pets(key, turn))),
    );
    for (const { customerId } of keys) {
      await expect
        .poll(() => recorded(fleet, customerId), { timeout: 12_000 })
        .toEqual({ served: 4, refused: 6 });
    }
    const from = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    const ops = (...args: string[]) => runOps(args, { REDIS_URL: cluster.url });
    const { stdout, stderr } = await ops('usage', 'export', '--from', from, '--json');
    expect(stderr).toBe('');
    const rows = JSON.parse(stdout) as { id: string; served: number; refused: number }[];
    const totals = Map.groupBy(rows, ({ id }) => id);
    expect([...totals.keys()].toSorted()).toEqual(keys.map(({ customerId }) => customerId).toSorted());
    expect(rows.reduce((sum, row) => sum + row.served, 0)).toBe(36);
    expect(rows.reduce((sum, row) => sum + row.refused, 0)).toBe(54);
  });
});
