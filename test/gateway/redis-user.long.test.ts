import { describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { connectRedis, keyIssuer } from '../support/kits/keys.ts';
import {
  logIn,
  logInToSentinels,
  permittedCommands,
  readCommandUse,
  resetCommandUse,
  setUser,
} from '../support/kits/redis-users.ts';
import { redisStateOf, runOps, startGateway, type Service } from '../support/kits/service.ts';
import { startRedisCluster } from '../support/stores/redis-cluster.ts';
import type { RedisProcess } from '../support/stores/redis-process.ts';
import { startRedisSentinels } from '../support/stores/redis-sentinel.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';

async function deniedOn(servers: readonly RedisProcess[]): Promise<unknown[]> {
  return (await Promise.all(servers.map(({ redis }) => redis.acl('LOG')))).flat();
}

const pets = async ({ url }: Service, key: string) => (await send(`${url}/v1/pets`, { key })).status;

/** Runs commands that read and change, and ask all servers. */
async function expectOpsWorks(url: string, id: string): Promise<void> {
  for (const args of [`keys set ${id} --name Renamed`, 'plans list']) {
    const { code, stderr } = await runOps(args.split(' '), { REDIS_URL: url });
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
  }
}

describe('the Redis users of the ACL files', { tags: ['redis-server'], timeout: 120_000 }, () => {
  test('in a Cluster: nothing is denied, not even while a slot moves, and each further command is sent', async () => {
    await using cluster = await startRedisCluster();
    await using upstream = await startUpstream();
    for (const { redis } of cluster.nodes) await setUser(redis, 'users.acl');
    const env = { REDIS_URL: logIn(cluster.url), PETS_SERVICE_URL: upstream.url };
    await using gateway = await startGateway(env);
    using admin = await connectRedis(cluster.url);
    const { key, id, customerId, keyHash } = await keyIssuer(admin).issue();
    for (const { redis } of cluster.nodes) await resetCommandUse(redis);
    expect(await pets(gateway, key)).toBe(200);
    await expectOpsWorks(logIn(cluster.url), id);

    // The slot is about to move, and its keys are at the new node already: the old one replies ASK.
    const record = redisKeys.apiKey({ customerId, keyHash });
    const from = await cluster.masterOf(record);
    const [to] = await cluster.otherMasters(from);
    if (to === undefined) throw new Error('there is one master only');
    const slot = await from.redis.cluster('KEYSLOT', record);
    const [fromId, toId] = [await from.redis.cluster('MYID'), await to.redis.cluster('MYID')];
    await to.redis.cluster('SETSLOT', slot, 'IMPORTING', fromId);
    await from.redis.cluster('SETSLOT', slot, 'MIGRATING', toId);
    const keys = await from.redis.cluster('GETKEYSINSLOT', slot, 100);
    await from.redis.call('MIGRATE', '127.0.0.1', String(to.port), '', '0', '5000', 'KEYS', ...keys);
    await runOps(['keys', 'show', id], { REDIS_URL: logIn(cluster.url) });

    // READONLY is for replicas, of which the gateway asks one at random, each second, where the slots are.
    const used = async () =>
      (await Promise.all(cluster.nodes.map(({ redis }) => readCommandUse(redis)))).flat();
    const further = ['asking', 'cluster|info', 'cluster|slots', 'readonly'];
    await expect.poll(used, { timeout: 30_000 }).toEqual(expect.arrayContaining(further));
    expect(await deniedOn(cluster.nodes)).toEqual([]);
    await gateway.stop();
  });

  test('with Sentinels: a failover is followed, nothing is denied, and without any one command something is', async () => {
    await using stores = await startRedisSentinels();
    await using upstream = await startUpstream();
    for (const { redis } of stores.servers) await setUser(redis, 'users.acl');
    let unknown: string[] = [];
    for (const { redis } of stores.sentinels) unknown = await setUser(redis, 'sentinel-users.acl');
    const all = [...stores.servers, ...stores.sentinels];
    const url = logInToSentinels(stores.url);
    await using gateway = await startGateway({ REDIS_URL: url, PETS_SERVICE_URL: upstream.url });
    using admin = await connectRedis(stores.url);
    const { key, id } = await keyIssuer(admin).issue();
    expect(await pets(gateway, key)).toBe(200);
    await expectOpsWorks(logInToSentinels(stores.url), id);
    const master = await stores.master();
    await master.kill();
    await expect.poll(() => stores.master(), { timeout: 30_000 }).not.toBe(master);
    const redisState = () => redisStateOf(gateway);
    await expect.poll(redisState, { timeout: 30_000 }).toBe('ok');
    expect(await pets(gateway, key)).toBe(200);
    expect(await deniedOn(all.filter((server) => server !== master))).toEqual([]);
    await gateway.stop();

    const known = permittedCommands('sentinel-users.acl').filter((command) => !unknown.includes(command));
    for (const command of known) {
      for (const { redis } of stores.sentinels) {
        await redis.acl('SETUSER', 'gateway', `-${command}`);
        await redis.acl('LOG', 'RESET');
      }
      const lacking = startGateway({ REDIS_URL: url, PETS_SERVICE_URL: upstream.url });
      await expect.poll(() => deniedOn(stores.sentinels), { message: command }).not.toEqual([]);
      await (await lacking).stop();
      for (const { redis } of stores.sentinels) await redis.acl('SETUSER', 'gateway', `+${command}`);
    }
  });
});
