import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { connectRedis, keyIssuer, type IssuedKey } from '../support/kits/keys.ts';
import { metricOf, redisStateOf, runOps, startGateway } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startRedisProcess } from '../support/stores/redis-process.ts';
import { startRedisRelay } from '../support/stores/redis-relay.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';

describe('changes that a replica has not received', { tags: ['redis-server'], timeout: 120_000 }, () => {
  const master = shared(startRedisServer);
  /** Between master and replica. */
  const replication = shared(() => startRedisRelay(master.port));
  const replica = shared(() =>
    startRedisProcess(() => ['--save', '', '--replicaof', '127.0.0.1', String(replication.port)]),
  );
  /** Between gateway and master. */
  const relay = shared(() => startRedisRelay(master.port));
  const upstream = shared(startUpstream);
  const gateway = shared(() => startGateway({ REDIS_URL: relay.url, PETS_SERVICE_URL: upstream.url }));
  beforeAll(async () => {
    await vi.waitFor(async () => expect(await master.redis.info('replication')).toMatch(/state=online/), {
      timeout: 20_000,
    });
  });

  const ops = (url: string, ...args: string[]) => runOps(args, { REDIS_URL: url });
  const pets = (key: string) => send(`${gateway.url}/v1/pets`, { key });
  const limitOf = async (key: string) => (await pets(key)).header('RateLimit-Policy')?.split(',')[0];

  async function issue(wanted: { minute?: number } = {}): Promise<IssuedKey> {
    const redis = await connectRedis(master.url);
    const issued = await keyIssuer(redis).issue(wanted);
    await redis.wait(1, 10_000);
    redis.disconnect();
    return issued;
  }

  /** The replica becomes the master, without what it has not received. */
  async function failOver(): Promise<void> {
    await master.kill();
    await replication[Symbol.asyncDispose]();
    await replica.redis.replicaof('NO', 'ONE');
    await expect.poll(redisState, { timeout: 10_000 }).toBe('unavailable');
    relay.switchTo(replica.port);
    await expect.poll(redisState, { timeout: 10_000 }).toBe('ok');
  }

  const redisState = () => redisStateOf(gateway);

  const badRecords = () => metricOf(gateway, 'gateway_bad_settings{key="gw:key"}');

  test('the ops command waits for the replica: until that confirms, it prints a warning and exits with 3', async () => {
    const { id } = await issue();
    expect(await ops(master.url, 'keys', 'set', id, '--name', 'new')).toMatchObject({ code: 0, stderr: '' });
    expect(await replica.redis.keys('gw:key:{*')).toHaveLength(1);
    replica.signal('SIGSTOP');
    const revoked = await ops(master.url, 'keys', 'revoke', '--yes', id, '--json');
    const warning = `a replica of Redis has not confirmed the change of ${id}: it is in force, but a failover may undo it`;
    expect(revoked).toMatchObject({ code: 3, stderr: `ops: warning: ${warning}\n` });
    expect(JSON.parse(revoked.stdout)).toMatchObject({ id, state: 'revoked', warning });
    const again = await ops(master.url, 'keys', 'revoke', '--yes', id);
    expect(again.code).toBe(3);
    expect(again.stderr).toMatch(/^ops: warning: a replica of Redis has not confirmed the change: /);
    replica.signal('SIGCONT');
    expect(await ops(master.url, 'keys', 'revoke', '--yes', id)).toMatchObject({ code: 0, stderr: '' });
  });

  test('an import of an older export is accepted, but a key whose revocation it lacks stays revoked', async () => {
    await using directory = await temporaryDirectory();
    const issued = await issue({ minute: 20 });
    const { key, customerId } = issued;
    const leaked = await issue();
    const { stdout: exported } = await ops(master.url, 'keys', 'export');
    for (const minute of ['11', '12'])
      await ops(master.url, 'customers', 'set', customerId, '--minute', minute);
    expect(await limitOf(key)).toBe('"minute";q=12;w=60');
    await ops(master.url, 'keys', 'revoke', '--yes', leaked.id);
    expect((await pets(leaked.key)).status).toBe(401);
    const records = [issued, leaked].flatMap((place) => [
      redisKeys.customer(place.customerId),
      redisKeys.apiKey(place),
    ]);
    await master.redis.del(...records, redisKeys.apiKeyIds, redisKeys.apiKeysByCreation);
    expect((await pets(key)).json).toMatchObject({ code: 'unknown_api_key' });

    const file = join(directory.path, 'keys.jsonl');
    await writeFile(file, exported);
    expect(await ops(master.url, 'keys', 'import', file)).toMatchObject({ code: 0, stderr: '' });
    expect(await limitOf(key)).toBe('"minute";q=20;w=60');
    expect((await pets(leaked.key)).json).toMatchObject({ code: 'revoked_api_key' });
  });

  test('what a failover has lost stays in force, operators learn of it, and can change it again', async () => {
    const before = (await badRecords()) ?? 0;
    const [leaked, limited, tuned] = [
      await issue(),
      await issue({ minute: 20 }),
      await issue({ minute: 20 }),
    ];
    expect((await pets(leaked.key)).status).toBe(200);
    for (const { key } of [limited, tuned]) expect(await limitOf(key)).toBe('"minute";q=20;w=60');
    replication.discardReplies();
    const setMinute = (url: string, { customerId }: IssuedKey, minute: number) =>
      ops(url, 'customers', 'set', customerId, '--minute', String(minute));
    await ops(master.url, 'keys', 'revoke', '--yes', leaked.id);
    await setMinute(master.url, limited, 10);
    for (const minute of [11, 12, 13]) await setMinute(master.url, tuned, minute);
    const expectInForce = async () => {
      expect((await pets(leaked.key)).json).toMatchObject({ status: 401, code: 'revoked_api_key' });
      expect(await limitOf(limited.key)).toBe('"minute";q=10;w=60');
      expect(await limitOf(tuned.key)).toBe('"minute";q=13;w=60');
    };
    await expectInForce();
    await failOver();

    expect(await replica.redis.hget(redisKeys.apiKey(leaked), 'revokedAt')).toBeNull();
    for (let times = 0; times < 3; times += 1) await expectInForce();
    // A request with such a key is counted in Redis.
    const counted = await replica.redis.get(redisKeys.openWindow(limited.customerId, 'minute'));
    expect(Number(counted)).toBeGreaterThanOrEqual(3);
    expect(await badRecords()).toBe(before + 3);
    const lines = gateway.output().split('\n');
    const reports = lines.filter((line) => line.includes(`Redis has lost a change of ${leaked.id}`));
    expect(reports.map((line) => JSON.parse(line) as object)).toMatchObject([{ level: 40 }]);

    const url = `redis://127.0.0.1:${replica.port}`;
    for (const change of [
      ['set', '--name', 'Renamed'],
      ['revoke', '--yes'],
    ]) {
      const [verb = '', ...options] = change;
      await ops(url, 'keys', verb, leaked.id, ...options);
      expect((await pets(leaked.key)).status).toBe(401);
    }
    await setMinute(url, limited, 12);
    expect(await limitOf(limited.key)).toBe('"minute";q=12;w=60');
    expect(await setMinute(url, tuned, 14)).toMatchObject({ code: 0 });
    expect(await limitOf(tuned.key)).toBe('"minute";q=14;w=60');
    expect(await badRecords()).toBe(before);
    expect(await ops(url, 'keys', 'revoke', '--yes', tuned.id)).toMatchObject({ code: 0 });
    expect((await pets(tuned.key)).json).toMatchObject({ code: 'revoked_api_key' });
  });
});
