import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { recordedTraffic } from '../support/checks/traffic-record.ts';
import { send } from '../support/http/http.ts';
import { startGatewayFleet } from '../support/kits/gateway-fleet.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { startLoad } from '../support/load/steady-load.ts';
import { startRedisCluster } from '../support/stores/redis-cluster.ts';
import { monitorRedis } from '../support/stores/redis-monitor.ts';

const reported = { timeout: 20_000, interval: 100 };

describe('the record of traffic', { tags: ['redis-server'], timeout: 180_000 }, () => {
  test('costs a process one command in five seconds, and none without traffic', async () => {
    await using kit = await startGatewayKit({ LOG_LEVEL: 'warn' });
    const { key } = await kit.issue({ plan: 'business' });
    const monitor = await monitorRedis(kit.server.port);
    const written = () =>
      monitor.commands
        .filter(({ args, source }) => source !== 'lua' && args.some((arg) => arg.startsWith('gw:{traffic}')))
        .map(({ time }) => time);
    const load = startLoad(8, () => send(`${kit.gateway.url}/v1/pets`, { key }));
    // Long enough for several reports; the number of them is what is tested.
    await expect.poll(() => written().length, { timeout: 60_000 }).toBeGreaterThanOrEqual(6);
    await load.stop();
    const times = written();
    // The first call may be two commands, until Redis knows the script.
    const apart = times.slice(2).map((time, index) => time - (times[index + 1] ?? 0));
    expect(Math.min(...apart)).toBeGreaterThan(4);
    await expect
      .poll(async () => (await recordedTraffic(kit.redis)).requests, reported)
      .toBe(load.outcomes.length);
    const before = written().length;
    // No event says that nothing comes: three reports would have.
    await sleep(16_000);
    expect(written().length).toBe(before);
    monitor.close();
  });

  test('is kept and shown in a Redis Cluster', async () => {
    await using cluster = await startRedisCluster();
    await using fleet = await startGatewayFleet(cluster.url, 2, () => ({ GATEWAY_WORKERS: '2' }));
    const { key } = await fleet.issue({ plan: 'business' });
    for (let turn = 0; turn < 60; turn += 1) expect((await fleet.pets(key, turn)).status).toBe(200);
    await expect.poll(async () => (await recordedTraffic(fleet.redis)).requests, reported).toBe(60);
  });
});
