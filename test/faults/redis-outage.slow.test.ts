import { beforeEach, describe, expect, test, vi } from 'vitest';
import { generateApiKey } from '../../gateway/keys/api-key-format.ts';
import { send } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { metricOf, redisStateOf, startGateway } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { dayUsage } from '../support/stores/day-counter.ts';

describe('a Redis outage', { tags: ['redis-server'], timeout: 120_000 }, () => {
  const kit = shared(startGatewayKit);
  let outputBefore: number;
  beforeEach(async () => {
    // As the test before has left it.
    await kit.server.redis.ping().catch(() => kit.server.restart());
    await vi.waitFor(() => kit.redis.ping(), { timeout: 10_000 });
    await vi.waitFor(async () => expect(await redisState()).toBe('ok'), { timeout: 10_000 });
    outputBefore = kit.gateway.output().length;
  });

  const redisState = () => redisStateOf(kit.gateway);
  const output = () => kit.gateway.output().slice(outputBefore);
  const localMode = () => metricOf(kit.gateway, 'gateway_local_mode');

  const outages = [
    { name: 'killed', begin: () => kit.server.kill(), end: () => kit.server.restart() },
    {
      name: 'paused',
      begin: () => Promise.resolve(kit.server.signal('SIGSTOP')),
      end: () => Promise.resolve(kit.server.signal('SIGCONT')),
    },
    {
      name: 'full',
      begin: () => kit.server.redis.config('SET', 'maxmemory', 1),
      end: () => kit.server.redis.config('SET', 'maxmemory', 0),
    },
  ];

  test.each(outages)(
    '$name: known keys are served and limited, unknown keys get 503, and every request is counted afterwards',
    async ({ begin, end }) => {
      const known = await kit.issue({ minute: 30 });
      const unseen = await kit.issue();
      for (let index = 0; index < 5; index += 1) expect((await kit.pets(known.key)).status).toBe(200);

      await begin();
      const during = [];
      for (let index = 0; index < 40; index += 1) during.push(await kit.pets(known.key));
      // A single instance may admit the whole limit of 30.
      expect(during.map(({ status }) => status)).toEqual([
        ...Array<number>(30).fill(200),
        ...Array<number>(10).fill(429),
      ]);
      expect(during.at(-1)?.json).toMatchObject({ code: 'rate_limit_exceeded' });
      expect(Number(during.at(-1)?.header('Retry-After'))).toBeGreaterThan(0);
      expect(during[0]?.header('RateLimit-Policy')).toBe('"minute";q=30;w=60, "day";q=1000;w=86400');
      expect(await localMode()).toBe(1);
      expect(await redisState()).toBe('unavailable');

      for (const key of [unseen.key, generateApiKey()]) {
        const refused = await kit.pets(key);
        expect(refused).toMatchObject({ status: 503, json: { code: 'service_unavailable' } });
        expect(refused.headers).toMatchObject({ 'retry-after': '1', 'x-ratelimit-limit': '60' });
      }
      const missing = await send(`${kit.gateway.url}/v1/pets`);
      expect(missing).toMatchObject({ status: 401, headers: { 'x-ratelimit-limit': '60' } });

      await end();
      await expect.poll(redisState, { timeout: 2000, interval: 20 }).toBe('ok');
      expect(await localMode()).toBe(0);
      expect((await kit.pets(unseen.key)).status).toBe(200);
      // 5 before and 30 during the outage. The request in flight when Redis stopped replying may count twice.
      await expect
        .poll(() => dayUsage(kit.redis, known.customerId), { timeout: 2000 })
        .toBeGreaterThanOrEqual(35);
      expect(await dayUsage(kit.redis, known.customerId)).toBeLessThanOrEqual(36);
      const lines = output().split('\n');
      expect(lines.filter((line) => line.includes('Redis is unavailable; known keys'))).toHaveLength(1);
      expect(lines.filter((line) => line.includes('Redis is available again'))).toHaveLength(1);
    },
  );

  test('what a gateway has served in the outage and not added when it ends is in its log', async () => {
    await using gateway = await startGateway({ ...kit.env, GATEWAY_WORKERS: '2' });
    const { key, customerId } = await kit.issue();
    for (let index = 0; index < 20; index += 1) await send(`${gateway.url}/v1/pets`, { key });
    await kit.server.kill();
    let served = 0;
    for (let index = 0; index < 20; index += 1) {
      if ((await send(`${gateway.url}/v1/pets`, { key })).status === 200) served += 1;
    }
    expect(served).toBeGreaterThan(0);
    expect(await gateway.stop()).toBe(0);
    const logged = gateway
      .output()
      .split('\n')
      .filter((line) => line.includes('requests served without Redis are not counted'))
      .map((line) => JSON.parse(line) as { level: number; customerId: string; requests: number });
    expect(logged.every((line) => line.level === 50 && line.customerId === customerId)).toBe(true);
    expect(logged.reduce((sum, { requests }) => sum + requests, 0)).toBe(served);
  });

  test('a key that expires during the outage is refused', async () => {
    const { key } = await kit.issue({ expiresAt: new Date(Date.now() + 4000) });
    expect((await kit.pets(key)).status).toBe(200);
    await kit.server.kill();
    expect((await kit.pets(key)).status).toBe(200);
    await expect.poll(async () => (await kit.pets(key)).json).toMatchObject({ code: 'expired_api_key' });
  });

  test('all requests with unknown keys get 503, even more than the limit of their address', async () => {
    const { key } = await kit.issue();
    const unseen = await Promise.all(Array.from({ length: 5 }, () => kit.issue()));
    await kit.pets(key);
    await kit.server.kill();
    const responses = [];
    for (let index = 0; index < 70; index += 1) responses.push(await kit.pets(unseen[index % 5]?.key ?? ''));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([503]));
  });

  test('Redis settings that may lose keys are logged at startup', async () => {
    expect(kit.gateway.output()).not.toMatch(/noeviction|appendonly/);
    const { redis } = kit.server;
    await redis.config('SET', 'maxmemory', '1gb', 'maxmemory-policy', 'allkeys-lru', 'appendonly', 'no');
    await using gateway = await startGateway(kit.env);
    await expect.poll(gateway.output).toMatch(/"level":40.*maxmemory-policy is allkeys-lru/);
    await expect.poll(gateway.output).toMatch(/"level":40.*appendonly is off/);
  });

  test('an instance without traffic detects that Redis is down', async () => {
    await kit.server.kill();
    await expect.poll(redisState, { timeout: 2000 }).toBe('unavailable');
  });
});

describe('Redis unavailable at startup', { tags: ['redis-server'] }, () => {
  const kit = shared(startGatewayKit);

  test('the gateway starts, refuses every key with 503, and serves keys once Redis is available', async () => {
    const { key } = await kit.issue();
    await kit.server.kill();
    await using gateway = await startGateway(kit.env);
    const response = await send(`${gateway.url}/v1/pets`, { key });
    expect(response).toMatchObject({ status: 503, json: { code: 'service_unavailable' } });
    expect((await send(`${gateway.adminUrl}/readyz`)).status).toBe(200);
    await expect.poll(gateway.output).toContain('Redis is unavailable; every request gets 503');
    await kit.server.restart();
    await expect
      .poll(async () => (await send(`${gateway.url}/v1/pets`, { key })).status, { timeout: 2000 })
      .toBe(200);
  });
});
