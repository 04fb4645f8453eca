import { describe, expect, test, vi } from 'vitest';
import { generateApiKey } from '../../gateway/keys/api-key-format.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { backupCommands, runDocumented } from '../support/checks/runbook-commands.ts';
import { send } from '../support/http/http.ts';
import { connectRedis, keyIssuer, type IssuedKey } from '../support/kits/keys.ts';
import { openLive, problemTitles } from '../support/kits/live-kit.ts';
import { metricOf, redisStateOf, runOps, startGateway } from '../support/kits/service.ts';
import { fresh } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startLoad } from '../support/load/steady-load.ts';
import { startRedisRelay } from '../support/stores/redis-relay.ts';
import { startRedisServer, type RedisServer } from '../support/stores/redis-server.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';

describe(
  'a Redis that came back empty under running gateways',
  { tags: ['redis-server'], timeout: 120_000 },
  () => {
    const old = fresh(startRedisServer);
    const empty = fresh(startRedisServer);
    const relay = fresh(() => startRedisRelay(old.port));
    const upstream = fresh(startUpstream);
    const directory = fresh(temporaryDirectory);
    const gateway = fresh(() => startGateway({ REDIS_URL: relay.url, PETS_SERVICE_URL: upstream.url }));

    const { backup, restore } = backupCommands();
    const run = (commands: string, { url }: RedisServer) => runDocumented(commands, directory.path, url);
    const ops = (...args: string[]) => runOps(args, { REDIS_URL: empty.url });
    const pets = (key: string) => send(`${gateway.url}/v1/pets`, { key });
    const redisState = () => redisStateOf(gateway);
    const exported = async () => {
      const today = new Date().toISOString().slice(0, 10);
      return JSON.parse((await ops('usage', 'export', '--from', today, '--json')).stdout) as unknown;
    };
    /** Plans and policies, as the file that an operator keeps. */
    const settingsOf = async ({ url }: RedisServer) =>
      (await runOps(['plans', 'export'], { REDIS_URL: url })).stdout;
    const emptied = () => metricOf(gateway, 'gateway_redis_emptied');

    /** Keys whose limits no traffic of a test reaches, also while a gateway limits them alone. */
    async function issueServed(count: number): Promise<IssuedKey[]> {
      const redis = await connectRedis(old.url);
      const { issue } = keyIssuer(redis);
      const limits = { minute: 900_000, day: 9_000_000 };
      const keys: IssuedKey[] = [];
      while (keys.length < count) keys.push(await issue({ plan: 'pro', ...limits }));
      redis.disconnect();
      for (const { key } of keys) await expect.poll(async () => (await pets(key)).status).toBe(200);
      return keys;
    }

    async function lose(): Promise<void> {
      await old.kill();
      await expect.poll(redisState, { timeout: 10_000 }).toBe('unavailable');
      relay.switchTo(empty.port);
      await expect.poll(redisState, { timeout: 10_000 }).toBe('ok');
    }

    /** One client a key that sends all the time, and counts the statuses of its responses. */
    function startTraffic(keys: readonly IssuedKey[]) {
      const codes = new Set<string>();
      const served = new Map<string, number>();
      const load = startLoad(keys.length, async (client) => {
        const { id, key } = keys[client] ?? { id: '', key: '' };
        const { status, json, header } = await pets(key);
        if (status === 200) served.set(id, (served.get(id) ?? 0) + 1);
        else codes.add(`${(json as { code: string }).code} ${header('Retry-After')}`);
        return status;
      });
      return { load, codes, served };
    }

    test('keys get 503 until they are imported, and the record of use has what was served', async () => {
      const [idle, ...busy] = await issueServed(4);
      await runOps(['plans', 'set', 'gold', '--create', '--minute', '64000'], { REDIS_URL: old.url });
      const tuned = ['--anonymous-minute', '65000', '--strikes', '77'];
      await runOps(['policy', 'set', ...tuned], { REDIS_URL: old.url });
      const settings = await settingsOf(old);
      await run(backup, old);
      await old.kill();
      await expect.poll(redisState, { timeout: 10_000 }).toBe('unavailable');
      const { load, codes, served } = startTraffic(busy);
      await using _load = load;
      // Served and counted by the gateway alone; one key sends nothing later.
      expect((await pets(idle?.key ?? '')).status).toBe(200);
      await expect.poll(() => served.size).toBe(busy.length);
      expect([...codes]).toEqual([]);
      relay.switchTo(empty.port);
      await expect.poll(() => [...codes], { timeout: 10_000 }).toEqual(['service_unavailable 1']);
      expect(await emptied()).toBe(1);
      expect((await pets(generateApiKey())).status).toBe(503);
      // The console has connections of its own, which find the other Redis a moment later.
      const live = await vi.waitFor(() => openLive(empty.redis, gateway), { timeout: 10_000, interval: 200 });
      await live.until((state) => expect(problemTitles(state)).toContain('Redis came back empty'));

      await run(restore, empty);
      await expect.poll(emptied, { timeout: 10_000 }).toBe(0);
      expect(settings).toMatch(/gold:\n +minute: 64000[^]*minute: 65000[^]*strikes: 77/);
      expect(await settingsOf(empty)).toBe(settings);
      const unknown = await pets(generateApiKey());
      expect([unknown.status, unknown.header('X-RateLimit-Limit')]).toEqual([401, '65000']);
      // Those in flight, one a key, have begun before.
      const before = load.outcomes.length + busy.length;
      await expect.poll(() => load.outcomes.length).toBeGreaterThan(before + 100);
      expect((await load.stop()).slice(before).every((status) => status === 200)).toBe(true);
      expect([...codes]).toEqual(['service_unavailable 1']);
      await live.until((state) => expect(problemTitles(state)).not.toContain('Redis came back empty'));

      const rows = [
        { id: idle?.customerId, served: 1 },
        ...busy.map(({ id, customerId }) => ({ id: customerId, served: served.get(id) })),
      ];
      expect(await exported()).toMatchObject(
        rows.map((row) => Object.assign(row, { name: 'test', plan: 'pro' })),
      );
    });

    test('restored before gateways reach it, no request gets anything but 200', async () => {
      const keys = await issueServed(3);
      await run(backup, old);
      const { load, codes } = startTraffic(keys);
      await using _load = load;
      await old.kill();
      await run(restore, empty);
      relay.switchTo(empty.port);
      await expect.poll(redisState, { timeout: 10_000 }).toBe('ok');
      const before = load.outcomes.length;
      await expect.poll(() => load.outcomes.length).toBeGreaterThan(before + 100);
      await load.stop();
      expect([...codes]).toEqual([]);
      expect(await emptied()).toBe(0);
    });

    test('is noticed without traffic, also by a gateway that starts, until all have ended or the marker is set', async () => {
      const [first] = await issueServed(1);
      await lose();
      await expect.poll(emptied, { timeout: 5000 }).toBe(1);
      await using second = await startGateway({ REDIS_URL: empty.url, PETS_SERVICE_URL: upstream.url });
      const statuses = async (key: string) => [
        (await pets(key)).status,
        (await send(`${second.url}/v1/pets`, { key })).status,
      ];
      expect(await statuses(first?.key ?? '')).toEqual([503, 503]);
      // A change of settings brings no keys back.
      expect(await ops('plans', 'set', 'free', '--minute', '61', '--day', '1000')).toMatchObject({ code: 0 });
      expect(await statuses(generateApiKey())).toEqual([503, 503]);
      await empty.redis.set(redisKeys.setUp, '1');
      await expect.poll(() => statuses(generateApiKey())).toEqual([401, 401]);
      await empty.redis.flushall();
      await expect.poll(() => statuses(first?.key ?? '')).toEqual([503, 503]);
      await Promise.all([gateway.stop(), second.stop()]);
      await using third = await startGateway({ REDIS_URL: empty.url, PETS_SERVICE_URL: upstream.url });
      expect((await send(`${third.url}/v1/pets`, { key: first?.key ?? '' })).status).toBe(401);
    });
  },
);
