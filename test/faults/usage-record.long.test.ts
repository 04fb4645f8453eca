import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { dayNumberOf } from '../../gateway/limits/utc-day.ts';
import { readUsageDays } from '../../gateway/quota/usage-days.ts';
import type { CustomerId } from '../../gateway/redis/redis-keys.ts';
import { startGatewayFleet, type GatewayFleet } from '../support/kits/gateway-fleet.ts';
import { runOps } from '../support/kits/service.ts';
import { startKeyLoad } from '../support/load/key-load.ts';
import { startRedisCluster } from '../support/stores/redis-cluster.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';

/** Sum of today and yesterday, because the test may run across midnight. */
async function recorded({ redis }: GatewayFleet, customerId: CustomerId) {
  const today = dayNumberOf(Date.now());
  const days = await readUsageDays(redis, customerId, { first: today - 1, last: today, oldest: 0 });
  const sum = (field: 'served' | 'refused') => days.reduce((total, day) => total + day[field], 0);
  return { served: sum('served'), refused: sum('refused') };
}

describe('the record of use of two gateways', { tags: ['redis-server'], timeout: 120_000 }, () => {
  test('is exact over an outage of Redis of 30 s', async () => {
    await using server = await startRedisServer();
    await using fleet = await startGatewayFleet(server.url, 2);
    const { key, customerId } = await fleet.issue({ minute: 60, day: 100_000 });
    const load = startKeyLoad(
      fleet.gateways.map(({ url }) => url),
      [key],
    );
    await expect.poll(() => load.count(key, 429), { timeout: 20_000 }).toBeGreaterThan(10);
    await server.kill();
    await expect.poll(() => fleet.redisStates()).toEqual(['unavailable', 'unavailable']);
    await sleep(30_000);
    await server.restart();
    await expect.poll(() => fleet.redisStates()).toEqual(['ok', 'ok']);
    await load.more(50);
    await load.stop();
    expect(load.count(key, 200)).toBeGreaterThan(60);
    const [served, refused] = [load.count(key, 200), load.count(key, 429)];
    expect(served + refused).toBe(load.outcomes.length);
    // What was in flight when Redis was killed may be counted there and locally.
    await expect
      .poll(() => recorded(fleet, customerId), { timeout: 12_000 })
      .toSatisfy(
        (use: { served: number; refused: number }) => use.refused === refused && use.served >= served,
      );
    expect((await recorded(fleet, customerId)).served).toBeLessThanOrEqual(served + 6);
  });

  test('has every served request of a killed gateway, and all refused ones of one that is stopped', async () => {
    await using server = await startRedisServer();
    await using fleet = await startGatewayFleet(server.url, 2);
    const [killed, stopped] = fleet.gateways;
    if (killed === undefined || stopped === undefined) throw new Error('expected two gateways');
    const limited = await fleet.issue({ minute: 5, day: 100_000 });
    const served = await fleet.issue({ minute: 100_000, day: 100_000 });
    for (let index = 0; index < 40; index += 1) expect((await fleet.pets(served.key, 0)).status).toBe(200);
    for (let index = 0; index < 30; index += 1) await fleet.pets(limited.key, 1);
    killed.signal('SIGKILL');
    await killed.exited;
    expect(await recorded(fleet, served.customerId)).toEqual({ served: 40, refused: 0 });
    await stopped.stop();
    expect(await recorded(fleet, limited.customerId)).toEqual({ served: 5, refused: 25 });
  });

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
    const ops = (...args: string[]) => runOps(['usage', ...args], { REDIS_URL: cluster.url });
    const { stdout, stderr } = await ops('export', '--from', from, '--json');
    expect(stderr).toBe('');
    const rows = JSON.parse(stdout) as { id: string; served: number; refused: number }[];
    const totals = Map.groupBy(rows, ({ id }) => id);
    expect([...totals.keys()].toSorted()).toEqual(keys.map(({ customerId }) => customerId).toSorted());
    expect(rows.reduce((sum, row) => sum + row.served, 0)).toBe(36);
    expect(rows.reduce((sum, row) => sum + row.refused, 0)).toBe(54);
    const retention = await ops('retention', '--days', '30', '--json');
    expect(retention).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(retention.stdout)).toMatchObject({ before: 400, days: 30, adjustedRedisKeys: 18 });
  });
});
