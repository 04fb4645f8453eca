import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readFleetReport } from '../../gateway/operations/fleet-report.ts';
import { readOnlyAudit } from '../../gateway/operations/session.ts';
import { freePort } from '../support/http/free-port.ts';
import { startGatewayFleet, type GatewayFleet } from '../support/kits/gateway-fleet.ts';
import { startGateway } from '../support/kits/service.ts';
import { startRedisServer, type RedisServer } from '../support/stores/redis-server.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';

describe('the end of a gateway', { tags: ['redis-server'], timeout: 300_000 }, () => {
  let server: RedisServer;
  let fleet: GatewayFleet;

  beforeAll(async () => {
    server = await startRedisServer();
    fleet = await startGatewayFleet(server.url, 1);
  }, 60_000);
  afterAll(async () => {
    await fleet[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  const titles = async () => {
    const session = { redis: fleet.redis, audit: readOnlyAudit, now: () => Date.now() };
    return (await readFleetReport(session, false)).problems.map(({ title }) => title);
  };
  async function untilTitles(expected: unknown): Promise<void> {
    await expect.poll(titles, { timeout: 60_000 }).toEqual(expected);
  }

  test('a primary that is killed alone is not seen until it runs again, and one that shuts down is no problem', async () => {
    const adminPort = String(await freePort());
    const start = () =>
      startGateway({
        REDIS_URL: server.url,
        PETS_SERVICE_URL: fleet.upstream.url,
        GATEWAY_WORKERS: '2',
        GATEWAY_ADMIN_PORT: adminPort,
      });
    const first = await start();
    await untilTitles([]);
    first.signal('SIGKILL');
    await untilTitles([expect.stringMatching(new RegExp(`^Gateway .*:${adminPort}.* is not seen$`))]);
    const second = await start();
    await untilTitles([]);
    expect(await second.stop()).toBe(0);
    expect(await titles()).toEqual([]);
  });

  test('one instance of the pets service that ends is named, and the others serve', async () => {
    await using other = await startUpstream();
    await using gateway = await startGateway({
      REDIS_URL: server.url,
      PETS_SERVICE_URL: `${fleet.upstream.url},${other.url}`,
    });
    const { key } = await fleet.issue();
    await untilTitles([]);
    await other[Symbol.asyncDispose]();
    await untilTitles([`Upstream ${other.url} is down and ejected`]);
    const headers = { authorization: `Bearer ${key}` };
    expect((await fetch(`${gateway.url}/v1/pets`, { headers })).status).toBe(200);
  });

  test('a Redis that comes and goes is one problem', async () => {
    for (let time = 1; time <= 3; time += 1) {
      await server.kill();
      await expect.poll(() => fleet.redisStates(), { timeout: 15_000 }).toEqual(['unavailable']);
      await server.restart();
      await expect.poll(() => fleet.redisStates(), { timeout: 30_000 }).toEqual(['ok']);
    }
    await untilTitles(['Gateways were without Redis']);
    const metrics = await (await fetch(`${fleet.gateways[0]?.adminUrl}/metrics`)).text();
    const [, seconds] = /^gateway_local_mode_seconds_total (\S+)$/m.exec(metrics) ?? [];
    expect(Number(seconds)).toBeGreaterThan(0);
  });
});
