import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { generateApiKey } from '../../gateway/api-keys/api-key-format.ts';
import { send } from '../support/http/http.ts';
import { startGatewayFleet, type GatewayFleet } from '../support/kits/gateway-fleet.ts';
import { startKeyLoad } from '../support/load/key-load.ts';
import { dayUsage } from '../support/stores/day-counter.ts';
import { startRedisServer, type RedisServer } from '../support/stores/redis-server.ts';
import { startSlowRelay, type SlowRelay } from '../support/upstreams/slow-relay.ts';

/** A day limit, because a minute window could expire during a test. */
const dayLimit = 100;

describe('Redis under a steady load of known keys on two gateways', { tags: ['redis-server'] }, () => {
  let server: RedisServer;
  let relay: SlowRelay;
  let fleet: GatewayFleet;

  beforeEach(async () => {
    server = await startRedisServer();
    relay = await startSlowRelay(server.port);
    fleet = await startGatewayFleet(`redis://127.0.0.1:${relay.port}`, 2);
    // By now each gateway has counted the other in Redis.
    await sleep(1200);
  });
  afterEach(async () => {
    await fleet[Symbol.asyncDispose]();
    await relay[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  const metricsOf = async (index: number) => (await send(`${fleet.gateways[index]?.adminUrl}/metrics`)).text;
  const localMode = async () =>
    Promise.all([0, 1].map(async (index) => /^gateway_local_mode (\d)$/m.exec(await metricsOf(index))?.[1]));

  const faults = [
    {
      fault: 'killed and restarted',
      begin: () => server.kill(),
      wait: () => sleep(3000),
      end: () => server.restart(),
    },
    {
      fault: 'paused for 30 s',
      begin: () => Promise.resolve(server.signal('SIGSTOP')),
      wait: () => sleep(30_000),
      end: () => Promise.resolve(server.signal('SIGCONT')),
    },
    {
      fault: 'slowed down by 500 ms',
      begin: () => Promise.resolve((relay.delayMs = 500)),
      wait: () => sleep(5000),
      end: () => Promise.resolve((relay.delayMs = 0)),
    },
  ];

  test.each(faults)(
    '$fault: no request with a known key fails, and all are counted',
    { timeout: 120_000 },
    async ({ begin, wait, end }) => {
      const keys = await Promise.all(
        Array.from({ length: 6 }, () => fleet.issue({ minute: 5000, day: dayLimit })),
      );
      const unseen = await fleet.issue();
      const load = startKeyLoad(
        fleet.gateways.map(({ url }) => url),
        keys.map(({ key }) => key),
      );
      // By now each gateway has cached every key.
      await load.more(120);

      await begin();
      await expect.poll(localMode, { timeout: 3000 }).toEqual(['1', '1']);
      const unknownKeyResponses = [];
      for (let index = 0; index < 20; index += 1) {
        const url = `${fleet.gateways[index % 2]?.url}/v1/pets`;
        unknownKeyResponses.push(await send(url, { key: index < 10 ? unseen.key : generateApiKey() }));
      }
      await Promise.all([wait(), load.more(300)]);
      const countBeforeEnd = load.outcomes.length;
      await end();
      await expect.poll(localMode, { timeout: 2000 }).toEqual(['0', '0']);
      await load.more(300);
      await load.stop();

      expect(countBeforeEnd).toBeGreaterThan(400);
      expect(new Set(unknownKeyResponses.map(({ status }) => status))).toEqual(new Set([503]));
      expect(new Set(load.outcomes.map(({ status }) => status))).toEqual(new Set([200, 429]));
      for (const { key, customerId } of keys) {
        const served = load.count(key, 200);
        // At least the limit in Redis, at most the limit plus the local shares of both instances.
        expect(served).toBeGreaterThanOrEqual(dayLimit);
        expect(served).toBeLessThanOrEqual(2 * dayLimit);
        // Local counts are reported afterwards. Requests in flight when Redis stopped replying may count twice.
        await expect.poll(() => dayUsage(server.redis, customerId)).toBeGreaterThanOrEqual(served);
        expect(await dayUsage(server.redis, customerId)).toBeLessThanOrEqual(served + 6);
      }
      for (const [index, gateway] of fleet.gateways.entries()) {
        const metrics = await metricsOf(index);
        const redisDurations = (suffix: string) =>
          Number(new RegExp(`^gateway_redis_duration_seconds_${suffix} ([\\d.]+)$`, 'm').exec(metrics)?.[1]);
        expect(redisDurations('count')).toBeGreaterThan(100);
        // Nobody waited for the end of the fault: on average, less than the 100 ms after which a request gives up.
        expect(redisDurations('sum')).toBeLessThan(redisDurations('count') * 0.1);
        const lines = gateway.output().split('\n');
        expect(lines.filter((line) => line.includes('Redis is unavailable; known keys'))).toHaveLength(1);
        expect(lines.filter((line) => line.includes('Redis is available again'))).toHaveLength(1);
        // Requests were decided locally, without a log line for each.
        expect(
          Number(/^gateway_local_decisions_total\{plan="free"\} (\d+)$/m.exec(metrics)?.[1]),
        ).toBeGreaterThan(50);
        expect(lines.filter((line) => /"level":[456]0/.test(line)).length).toBeLessThan(30);
      }
      expect((await send(`${fleet.gateways[0]?.url}/v1/pets`, { key: unseen.key })).status).toBe(200);
    },
  );
});
