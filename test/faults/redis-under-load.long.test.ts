import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { generateApiKey } from '../../gateway/api-keys/api-key-format.ts';
import { send } from '../support/http/http.ts';
import { startGatewayFleet, type GatewayFleet } from '../support/kits/gateway-fleet.ts';
import { startKeyLoad } from '../support/load/key-load.ts';
import { dayUsed } from '../support/stores/day-counter.ts';
import { startRedisServer, type RedisServer } from '../support/stores/redis-server.ts';
import { startSlowRelay, type SlowRelay } from '../support/upstreams/slow-relay.ts';

/** Requests a day, so that no window begins anew while a test runs. */
const day = 100;

describe('under a steady load of known keys on two gateways, Redis', { tags: ['redis-server'] }, () => {
  let server: RedisServer;
  let relay: SlowRelay;
  let fleet: GatewayFleet;

  beforeEach(async () => {
    server = await startRedisServer();
    relay = await startSlowRelay(server.port);
    fleet = await startGatewayFleet(`redis://127.0.0.1:${relay.port}`, 2);
    // They have told each other of themselves by now.
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
      what: 'killed and restarted',
      begin: () => server.kill(),
      last: () => sleep(3000),
      end: () => server.restart(),
    },
    {
      what: 'paused for 30 s',
      begin: () => Promise.resolve(server.signal('SIGSTOP')),
      last: () => sleep(30_000),
      end: () => Promise.resolve(server.signal('SIGCONT')),
    },
    {
      what: 'answering after half a second',
      begin: () => Promise.resolve((relay.delayMs = 500)),
      last: () => sleep(5000),
      end: () => Promise.resolve((relay.delayMs = 0)),
    },
  ];

  test.each(faults)(
    '$what: nobody is refused for it, nothing is lost',
    { timeout: 90_000 },
    async (fault) => {
      const keys = await Promise.all(Array.from({ length: 6 }, () => fleet.issue({ minute: 5000, day })));
      const unseen = await fleet.issue();
      const load = startKeyLoad(
        fleet.gateways.map(({ url }) => url),
        keys.map(({ key }) => key),
      );
      // Each gateway has seen each key.
      await load.more(120);

      await fault.begin();
      await expect.poll(localMode, { timeout: 3000 }).toEqual(['1', '1']);
      const strangers = [];
      for (let turn = 0; turn < 20; turn += 1) {
        const url = `${fleet.gateways[turn % 2]?.url}/v1/pets`;
        strangers.push(await send(url, { key: turn < 10 ? unseen.key : generateApiKey() }));
      }
      await Promise.all([fault.last(), load.more(300)]);
      const before = load.outcomes.length;
      await fault.end();
      await expect.poll(localMode, { timeout: 2000 }).toEqual(['0', '0']);
      await load.more(300);
      await load.stop();

      expect(before).toBeGreaterThan(400);
      expect(new Set(strangers.map(({ status }) => status))).toEqual(new Set([503]));
      expect(new Set(load.outcomes.map(({ status }) => status))).toEqual(new Set([200, 429]));
      for (const { key, keyHash } of keys) {
        const served = load.count(key, 200);
        // All of the limit in Redis, and at the most each instance's share of it beside.
        expect(served).toBeGreaterThanOrEqual(day);
        expect(served).toBeLessThanOrEqual(2 * day);
        // Reported afterwards; what was under way when Redis stopped answering may be there twice.
        await expect.poll(() => dayUsed(server.redis, keyHash)).toBeGreaterThanOrEqual(served);
        expect(await dayUsed(server.redis, keyHash)).toBeLessThanOrEqual(served + 6);
      }
      for (const [index, gateway] of fleet.gateways.entries()) {
        const metrics = await metricsOf(index);
        const waits = (suffix: string) =>
          Number(new RegExp(`^gateway_redis_duration_seconds_${suffix} (\\d+)$`, 'm').exec(metrics)?.[1]);
        expect(waits('count')).toBeGreaterThan(100);
        expect(waits('bucket\\{le="0.25"\\}')).toBe(waits('count'));
        const lines = gateway.output().split('\n');
        expect(lines.filter((line) => line.includes('Redis is unavailable; known keys'))).toHaveLength(1);
        expect(lines.filter((line) => line.includes('Redis is available again'))).toHaveLength(1);
        // Some were decided on locally, and no line was written for each.
        expect(
          Number(/^gateway_local_decisions_total\{plan="free"\} (\d+)$/m.exec(metrics)?.[1]),
        ).toBeGreaterThan(50);
        expect(lines.filter((line) => /"level":[456]0/.test(line)).length).toBeLessThan(30);
      }
      expect((await send(`${fleet.gateways[0]?.url}/v1/pets`, { key: unseen.key })).status).toBe(200);
    },
  );
});
