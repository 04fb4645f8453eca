import { describe, expect, test } from 'vitest';
import { readEnforcedSettings } from '../../gateway/platform/redis/process-statuses.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { connectRedis, keyIssuer } from '../support/kits/keys.ts';
import { metricOf, runOps, startGateway, type Service } from '../support/kits/service.ts';
import { fresh } from '../support/kits/shared.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';

const tunedPolicy = '"minute";q=600;w=60, "day";q=20000;w=86400';
const tunedGold = '"minute";q=2000;w=60, "day";q=500000;w=86400';
const defaultPolicy = '"minute";q=300;w=60, "day";q=10000;w=86400';

describe('settings that are lost in Redis', { tags: ['redis-server'], timeout: 120_000 }, () => {
  const server = fresh(startRedisServer);
  const upstream = fresh(startUpstream);
  const redis = fresh(() => connectRedis(server.url));
  const gateways = fresh(() => Promise.resolve(new AsyncDisposableStack()));

  const start = async (env: Record<string, string> = {}) =>
    gateways.use(await startGateway({ REDIS_URL: server.url, PETS_SERVICE_URL: upstream.url, ...env }));
  const ops = (...args: string[]) => runOps(args, { REDIS_URL: server.url });
  const issue = async (plan: string) => (await keyIssuer(redis).issue({ plan })).key;
  const limits = async ({ url }: Service, key: string) =>
    (await send(`${url}/v1/pets`, { key, headers: { connection: 'close' } })).header('RateLimit-Policy');
  const anonymousLimit = async ({ url }: Service) =>
    (await send(`${url}/v1/pets`)).header('X-RateLimit-Limit');
  const metric = (gateway: Service, key: string) => metricOf(gateway, `gateway_bad_settings{key="${key}"}`);
  const published = async () => JSON.stringify(await readEnforcedSettings(redis));
  const lines = ({ output }: Service) =>
    output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  /** Tunes every kind of setting, and waits until the gateway enforces and publishes it. */
  async function tune(gateway: Service): Promise<{ pro: string; gold: string }> {
    await redis.hset(redisKeys.plan('pro'), { minute: 600, day: 20_000 });
    await redis.hset(redisKeys.plan('gold'), { minute: 2000, day: 500_000 });
    await redis.hset(redisKeys.plan('anonymous'), { minute: 7 });
    await redis.hset(redisKeys.banPolicy, { enabled: 'false' });
    const keys = { pro: await issue('pro'), gold: await issue('gold') };
    await expect.poll(() => limits(gateway, keys.pro)).toBe(tunedPolicy);
    await expect.poll(() => limits(gateway, keys.gold)).toBe(tunedGold);
    await expect.poll(() => anonymousLimit(gateway)).toBe('7');
    await expect.poll(published).toContain('"enabled":"false"');
    await expect.poll(published).toContain('gw:plan:gold');
    return keys;
  }

  const deleteSettings = () =>
    Promise.all(
      [redisKeys.plan('pro'), redisKeys.plan('gold'), redisKeys.plan('anonymous'), redisKeys.banPolicy].map(
        (key) => redis.del(key),
      ),
    );

  async function expectEnforced(gateway: Service, keys: { pro: string; gold: string }): Promise<void> {
    expect(await limits(gateway, keys.pro)).toBe(tunedPolicy);
    expect(await limits(gateway, keys.gold)).toBe(tunedGold);
    expect(await anonymousLimit(gateway)).toBe('7');
  }

  const enforcedPolicies = async () => {
    const { stdout } = await ops('policy', 'show', '--json');
    return (JSON.parse(stdout) as { enforced: { value: { enabled: boolean } }[] }).enforced.map(
      ({ value }) => value.enabled,
    );
  };

  async function expectNothingWritten(): Promise<void> {
    expect(await redis.exists(redisKeys.plan('pro'))).toBe(0);
    expect(await redis.exists(redisKeys.plan('gold'))).toBe(0);
    expect(await redis.exists(redisKeys.plan('anonymous'))).toBe(0);
    expect(await redis.exists(redisKeys.banPolicy)).toBe(0);
  }

  test('stay in force after a stall of Redis, with a warning and a metric', async () => {
    const gateway = await start();
    const keys = await tune(gateway);
    await deleteSettings();
    await expect.poll(() => metric(gateway, redisKeys.plan('pro'))).toBe(2);
    server.signal('SIGSTOP');
    await expect.poll(gateway.output).toContain('Redis is unavailable; known keys');
    server.signal('SIGCONT');
    await expect.poll(gateway.output).toContain('Redis is available again');
    await expectEnforced(gateway, keys);
    await expectNothingWritten();
    expect(await enforcedPolicies()).toEqual([false]);
    expect(await metric(gateway, redisKeys.banPolicy)).not.toBe(0);
    expect(lines(gateway)).toContainEqual(
      expect.objectContaining({
        level: 40,
        key: redisKeys.plan('pro'),
        issues: ['minute is missing', 'day is missing'],
        enforced: { minute: 600, day: 20_000 },
        msg: 'Redis value is invalid; the last valid one stays in force',
      }),
    );
    expect(
      lines(gateway).filter(({ key, level }) => key === redisKeys.plan('pro') && level === 40),
    ).toHaveLength(1);
  });

  test('are taken over by gateways that start, from any that has them', async () => {
    const first = await start();
    const keys = await tune(first);
    await deleteSettings();
    const second = await start();
    await expectEnforced(second, keys);
    await first.stop();
    const third = await start();
    await expectEnforced(third, keys);
    expect(await metric(third, redisKeys.plan('pro'))).toBe(2);
    expect(await enforcedPolicies()).toEqual([false]);
    // Also from one that was not connected when another one started.
    await second.stop();
    third.signal('SIGSTOP');
    await redis.del(redisKeys.processStatuses);
    const fourth = await start();
    expect(await limits(fourth, keys.pro)).toBe(defaultPolicy);
    third.signal('SIGCONT');
    await expect.poll(() => limits(fourth, keys.pro)).toBe(tunedPolicy);
    await expectNothingWritten();
  });

  test('are not written by a gateway that starts alone; the default is in force, and operators see it', async () => {
    const first = await start();
    const keys = await tune(first);
    await first.stop();
    await Promise.all([redisKeys.plan('pro'), redisKeys.banPolicy].map((key) => redis.del(key)));
    const gateway = await start();
    expect(await limits(gateway, keys.pro)).toBe(defaultPolicy);
    expect(await limits(gateway, keys.gold)).toBe(tunedGold);
    expect(await redis.exists(redisKeys.plan('pro'), redisKeys.banPolicy)).toBe(0);
    expect(await metric(gateway, redisKeys.plan('pro'))).toBe(2);
    for (const key of [redisKeys.plan('pro'), redisKeys.banPolicy]) {
      expect(lines(gateway)).toContainEqual(
        expect.objectContaining({
          level: 40,
          key,
          msg: 'Redis value is invalid, and no running gateway has another one; the built-in default is in force',
        }),
      );
    }
    // A gateway publishes twice a second what it enforces.
    const list = () => ops('plans', 'list');
    await expect
      .poll(async () => (await list()).stdout)
      .toMatch(/^pro +- +- +1 +0 of 1 +300 a minute, 10000 a day \(1\)$/m);
    const keep = 'running gateways keep ';
    expect((await list()).stderr).toContain(`ops: warning: no valid limits are set for pro: ${keep}`);
    expect((await ops('policy', 'show')).stderr).toContain(`ops: warning: gw:ban-policy is missing: ${keep}`);
    // It takes over what another gateway knows, as soon as that one is there.
    await redis.hset(redisKeys.plan('pro'), { minute: 600, day: 20_000 });
    await expect.poll(() => limits(gateway, keys.pro)).toBe(tunedPolicy);
    await expect.poll(async () => (await ops('plans', 'list')).stdout).not.toContain('ENFORCED');
  });
});

describe('settings that were never set', { tags: ['redis-server'], timeout: 120_000 }, () => {
  test('are written once and audited by gateways and an operator that start at once', async () => {
    await using server = await startRedisServer();
    await using upstream = await startUpstream();
    const env = { REDIS_URL: server.url, PETS_SERVICE_URL: upstream.url };
    const [first, second, { code }] = await Promise.all([
      startGateway({ ...env, GATEWAY_WORKERS: '2' }),
      startGateway(env),
      runOps(['policy', 'set', '--strikes', '70', '--as', 'Alice'], env),
    ]);
    await using _gateways = new AsyncDisposableStack();
    _gateways.use(first);
    _gateways.use(second);
    expect(code).toBe(0);
    expect(await server.redis.hgetall(redisKeys.plan('pro'))).toEqual({ minute: '300', day: '10000' });
    expect(await server.redis.hgetall(redisKeys.plan('anonymous'))).toEqual({ minute: '60' });
    expect(await server.redis.hget(redisKeys.banPolicy, 'strikes')).toBe('70');
    const { stdout } = await runOps(['audit', '--json'], env);
    const entries = JSON.parse(stdout) as {
      action: string;
      target: string;
      before: unknown;
      after: unknown;
    }[];
    expect(entries.map(({ action, target }) => `${action} ${target}`)).toEqual([
      'plans.seed free',
      'plans.seed pro',
      'plans.seed business',
      'plans.seed anonymous',
      'policy.seed gw:ban-policy',
      'usage.seed gw:usage-policy',
      'policy.set gw:ban-policy',
    ]);
    expect(entries[1]).toMatchObject({ before: null, after: { minute: '300', day: '10000' } });
  });
});
