import { describe, expect, test } from 'vitest';
import { redisKeys, type CustomerId } from '../../gateway/platform/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { startGatewayFleet } from '../support/kits/gateway-fleet.ts';
import { runOps } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { expectServedDuringOutage, startKeyLoad } from '../support/load/key-load.ts';
import { dayUsage, todaysUse } from '../support/stores/day-counter.ts';
import { startRedisCluster, type RedisClusterServers } from '../support/stores/redis-cluster.ts';
import type { RedisProcess } from '../support/stores/redis-process.ts';

interface UsageRow {
  id: CustomerId;
  served: number;
  refused: number;
}

describe('a Redis Cluster of three masters and three replicas', { tags: ['redis-server'] }, () => {
  const cluster = shared(startRedisCluster);
  const fleet = shared(() => startGatewayFleet(cluster.url, 3));

  const urls = () => fleet.gateways.map(({ url }) => url);
  const pets = (key: string, index?: number) => fleet.pets(key, index);
  const allOk = ['ok', 'ok', 'ok'];

  async function ops(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await runOps(args, { REDIS_URL: cluster.url });
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
    return stdout;
  }

  test('quotas are exact across three gateways, on every shard', async () => {
    const keys = await Promise.all(Array.from({ length: 12 }, () => fleet.issue({ minute: 20 })));
    const masters = await Promise.all(
      keys.map(({ customerId }) => cluster.masterOf(redisKeys.openWindow(customerId, 'minute'))),
    );
    expect(new Set(masters).size).toBe(3);
    const responsesByKey = await Promise.all(
      keys.map(({ key }) => Promise.all(Array.from({ length: 50 }, (_, index) => pets(key, index)))),
    );
    for (const [index, responses] of responsesByKey.entries()) {
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(20);
      expect(responses.filter(({ status }) => status === 429)).toHaveLength(30);
      expect(await dayUsage(fleet.redis, keys[index]?.customerId ?? 'cus_')).toBe(20);
    }
    // The record of use is exact, and exported from all shards.
    const ids = new Set(keys.map(({ customerId }) => customerId));
    const from = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    const exported = async () => {
      const rows = JSON.parse(await ops('usage', 'export', '--from', from, '--json')) as UsageRow[];
      const own = rows.filter(({ id }) => ids.has(id));
      const sum = (field: 'served' | 'refused') => own.reduce((total, row) => total + row[field], 0);
      return {
        customers: new Set(own.map(({ id }) => id)).size,
        served: sum('served'),
        refused: sum('refused'),
      };
    };
    const expected = { customers: 12, served: 12 * 20, refused: 12 * 30 };
    await expect.poll(exported, { timeout: 12_000 }).toEqual(expected);
  });

  test('limits, revocations and bans apply on all gateways, and /v1/usage shows the usage of a key', async () => {
    const { key, id, customerId } = await fleet.issue({ plan: 'pro' });
    expect((await pets(key)).header('X-RateLimit-Limit')).toBe('300');
    await fleet.redis.hset(redisKeys.plan('pro'), 'minute', '400');
    await expect.poll(async () => (await pets(key, 1)).header('X-RateLimit-Limit')).toBe('400');
    await ops('customers', 'set', customerId, '--minute', '700');
    expect((await pets(key, 2)).header('X-RateLimit-Limit')).toBe('700');
    const usage = (await send(`${fleet.gateways[0]?.url}/v1/usage`, { key })).json;
    expect(usage).toMatchObject({ plan: 'pro', minute: { limit: 700 }, bannedUntil: null });
    await ops('bans', 'add', id, '--for', '1h', '--reason', 'test');
    for (const index of [0, 1, 2]) {
      await expect.poll(async () => (await pets(key, index)).json).toMatchObject({ code: 'api_key_banned' });
    }
    expect(await ops('bans', 'list')).toContain(id);
    await ops('bans', 'lift', id);
    for (const index of [0, 1, 2])
      await expect.poll(async () => (await pets(key, index)).status).not.toBe(429);
    await ops('keys', 'revoke', '--yes', id);
    for (const index of [0, 1, 2])
      expect((await pets(key, index)).json).toMatchObject({ code: 'revoked_api_key' });
  });

  test('while a slot moves to another node, its keys are served and every request is counted once', async () => {
    const keys = await Promise.all(Array.from({ length: 6 }, () => fleet.issue({ minute: 5000, day: 5000 })));
    const load = startKeyLoad(
      urls(),
      keys.map(({ key }) => key),
    );
    await load.more(60);
    await moveSlot(cluster, redisKeys.openWindow(keys[0]?.customerId ?? 'cus_', 'minute'), () =>
      load.more(150),
    );
    await load.more(100);
    await load.stop();
    expect(new Set(load.outcomes.map(({ status }) => status))).toEqual(new Set([200]));
    // Requests that were decided locally during the move are added to Redis afterwards.
    for (const { key, customerId } of keys)
      await expect.poll(() => dayUsage(fleet.redis, customerId)).toBe(load.count(key, 200));
    for (const gateway of fleet.gateways)
      expect(gateway.output()).not.toContain('Redis is unavailable; known keys');
  });

  test('when a master dies, known keys are served and limited, and its replica continues the counters', async () => {
    const keys = await Promise.all(Array.from({ length: 9 }, () => fleet.issue({ minute: 5000, day: 60 })));
    const load = startKeyLoad(
      urls(),
      keys.map(({ key }) => key),
    );
    await load.more(200);
    const killedMaster = await cluster.masterOf(todaysUse(keys[0]?.customerId ?? 'cus_')[0]);
    await killedMaster.kill();
    await expect.poll(fleet.redisStates, { timeout: 5000 }).toContain('unavailable');
    await expect.poll(fleet.redisStates, { timeout: 20_000 }).toEqual(allOk);
    await load.more(900);
    await load.stop();

    await expectServedDuringOutage(load, keys, fleet.redis);
    for (const gateway of fleet.gateways) {
      const lines = gateway.output().split('\n');
      expect(lines.filter((line) => line.includes('Redis is unavailable; known keys'))).toHaveLength(1);
      expect(lines.filter((line) => line.includes('Redis is available again'))).toHaveLength(1);
    }
    const { key } = await fleet.issue({ minute: 10 });
    const after = await Promise.all(Array.from({ length: 40 }, (_, index) => pets(key, index)));
    expect(after.filter(({ status }) => status === 200)).toHaveLength(10);
    await killedMaster.restart();
    // As a replica, without which the next master could not be replaced.
    await expect.poll(() => killedMaster.redis.info('replication')).toContain('master_link_status:up');
  });
});

/** Moves a slot as `redis-cli --cluster reshard` does, and runs `duringMove` before its keys are migrated. */
async function moveSlot(
  cluster: RedisClusterServers,
  key: string,
  duringMove: () => Promise<void>,
): Promise<void> {
  const source = await cluster.masterOf(key);
  const [target] = await cluster.otherMasters(source);
  if (target === undefined) throw new Error('the cluster has only one master');
  const idOf = async ({ redis }: RedisProcess) => String(await redis.call('CLUSTER', 'MYID'));
  const [sourceId, targetId] = [await idOf(source), await idOf(target)];
  const slot = await source.redis.cluster('KEYSLOT', key);
  await target.redis.cluster('SETSLOT', slot, 'IMPORTING', sourceId);
  await source.redis.cluster('SETSLOT', slot, 'MIGRATING', targetId);
  await duringMove();
  for (;;) {
    const names = await source.redis.cluster('GETKEYSINSLOT', slot, 100);
    if (names.length === 0) break;
    await source.redis.call('MIGRATE', '127.0.0.1', target.port, '', '0', '1000', 'KEYS', ...names);
  }
  await target.redis.cluster('SETSLOT', slot, 'NODE', targetId);
  await source.redis.cluster('SETSLOT', slot, 'NODE', targetId);
}
