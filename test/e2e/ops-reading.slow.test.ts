import { describe, expect, test } from 'vitest';
import type { RedisClient } from '../../gateway/platform/redis/redis-client.ts';
import { parsePlace, redisKeys, type KeyPlace } from '../../gateway/platform/redis/redis-keys.ts';
import { recordSecrets } from '../support/checks/evidence.ts';
import { contents } from '../support/kits/ops-kit.ts';
import { runOps, type Ended } from '../support/kits/service.ts';
import { startRedisProcess } from '../support/stores/redis-process.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';

/** Runs the ops command without a gateway, which would seed or repair data. */
const opsOn =
  ({ port }: { port: number }) =>
  (...args: string[]): Promise<Ended> =>
    runOps(args, { REDIS_URL: `redis://127.0.0.1:${port}` });

async function issue(run: ReturnType<typeof opsOn>, ...options: string[]): Promise<string> {
  const { stdout } = await run('keys', 'issue', '--plan', 'free', '--name', 'ACME', '--json', ...options);
  const { id, key } = JSON.parse(stdout) as { id: string; key: string };
  recordSecrets(key);
  return id;
}

async function placeOf(redis: RedisClient, id: string): Promise<KeyPlace> {
  const place = parsePlace((await redis.hget(redisKeys.apiKeyIds, id)) ?? '');
  if (place === undefined) throw new Error(`${id} has no place`);
  return place;
}

const readingCommands = (id: string) =>
  (
    `keys list; keys show ${id}; keys export; usage show cus_any; top; bans list; plans list; ` +
    'plans set free --minute 1 --day 1 --dry-run; plans export; policy show; audit'
  )
    .split('; ')
    .map((command) => command.split(' '));

describe('read commands', { tags: ['redis-server'], timeout: 120_000 }, () => {
  test('work on a Redis that refuses writes, and on a replica', async () => {
    await using server = await startRedisServer();
    const run = opsOn(server);
    const id = await issue(run);
    await run('bans', 'add', id, '--for', '1h', '--reason', 'flood');
    await using replica = await startRedisProcess(() => ['--replicaof', '127.0.0.1', String(server.port)]);
    await expect.poll(() => replica.redis.exists(redisKeys.apiKeyIds)).toBe(1);
    const expectRead = async (ops: typeof run) => {
      expect((await ops('keys', 'revoke', '--yes', id)).code).toBe(1);
      for (const args of readingCommands(id))
        expect(await ops(...args), args.join(' ')).toMatchObject({ code: 0, stderr: '' });
      expect((await ops('bans', 'list')).stdout).toContain('flood');
    };
    await expectRead(opsOn(replica));
    await server.redis.config('SET', 'maxmemory', 1);
    await expectRead(run);
    await server.redis.config('SET', 'maxmemory', 0, 'min-replicas-to-write', 2);
    await expectRead(run);
  });

  test('write nothing, even if data is lost or expired', async () => {
    await using server = await startRedisServer();
    const run = opsOn(server);
    const [id, deletedId] = [await issue(run), await issue(run)];
    await run('bans', 'add', id, '--for', '1h', '--reason', 'flood');
    const [banned, deleted] = [await placeOf(server.redis, id), await placeOf(server.redis, deletedId)];
    // A ban lifted by hand, a ban of a deleted key, and lost plans and policy.
    await server.redis.del(redisKeys.ban(banned), redisKeys.apiKey(deleted));
    await server.redis.zadd(redisKeys.bans, Date.now() + 60_000, deletedId, 1, 'key_long_ago');
    await server.redis.zadd(redisKeys.apiKeysByCreation, 1, deletedId);
    await server.redis.del(redisKeys.banPolicy, redisKeys.planNames, redisKeys.plan('pro'));
    const before = await contents(server.redis);
    for (const args of readingCommands(id))
      expect((await run(...args)).stderr, args.join(' ')).not.toContain('has changed something');
    expect(await contents(server.redis)).toEqual(before);
  });
});
