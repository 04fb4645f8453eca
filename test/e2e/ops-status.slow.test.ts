import { describe, expect, test } from 'vitest';
import type { FleetReport } from '../../gateway/control/status/fleet-report.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { startGatewayFleet } from '../support/kits/gateway-fleet.ts';
import { openLive } from '../support/kits/live-kit.ts';
import { runOps } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';

describe('ops status', { tags: ['redis-server'], timeout: 120_000 }, () => {
  const server = shared(startRedisServer);
  const fleet = shared(() =>
    startGatewayFleet(server.url, 2, (index) => (index === 0 ? {} : { GATEWAY_WORKERS: '2' })),
  );

  const status = (...args: string[]) => runOps(['status', ...args], { REDIS_URL: server.url });
  const report = async () => {
    const { code, stdout } = await status('--json');
    return { code, ...(JSON.parse(stdout) as FleetReport) };
  };

  test('says that all is well, shows gateways, upstream, Redis and traffic, and exits with 0', async () => {
    const { key } = await fleet.issue({ plan: 'business' });
    for (let turn = 0; turn < 20; turn += 1) expect((await fleet.pets(key, turn)).status).toBe(200);
    await expect.poll(async () => (await report()).recent.requests, { timeout: 30_000 }).toBe(20);
    const { code, stdout, stderr } = await status();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^All is well\.\n/);
    for (const { adminUrl } of fleet.gateways) {
      expect(stdout).toMatch(new RegExp(`\\(${new URL(adminUrl).host}\\) +ok +1\\.0\\.0 +[12] of [12] `));
    }
    expect(stdout).toMatch(new RegExp(`^${fleet.upstream.url} +ready +3 ready$`, 'm'));
    expect(stdout).toMatch(new RegExp(`^127.0.0.1:${server.port} +[\\d.]+ .* yes +0$`, 'm'));
    expect(stdout).toMatch(/^last minute +20 requests, 0 refused, 0 without a key, 0 failed, p99 \d+ ms$/m);
  });

  test('names the same problems as the console, with their advice, and exits with 1', async () => {
    const { port } = new URL(fleet.upstream.url);
    await fleet.upstream[Symbol.asyncDispose]();
    await fleet.redis.hset(redisKeys.plan('pro'), 'minute', 'plenty');
    const live = await openLive(fleet.redis, { adminUrl: fleet.gateways[0]?.adminUrl ?? '' });
    // All processes know of both.
    await live.until(({ problems }) =>
      expect(problems.map(({ detail }) => /\d gateway processes/.exec(detail)?.[0])).toEqual(
        Array(2).fill('3 gateway processes'),
      ),
    );
    const { code, problems, summary } = await report();
    expect(code).toBe(1);
    expect(summary).toBe('1 critical problem, 1 warning.');
    const shown = await live.read();
    expect({ problems, summary }).toEqual({ problems: shown.problems, summary: shown.summary });
    const text = await status();
    expect(text.code).toBe(1);
    expect(text.stdout).toMatch(
      /^1 critical problem, 1 warning\.\n\ncritical: No instance of pets-service is ready\n/,
    );
    for (const { detail, advice } of problems) {
      expect(text.stdout).toContain(`\n  ${detail}\n  ${advice} See `);
    }
    fleet.upstream = await startUpstream(Number(port));
    await fleet.redis.hset(redisKeys.plan('pro'), 'minute', '300');
    await expect.poll(async () => (await report()).code, { timeout: 15_000 }).toBe(0);
  });

  test('says that no gateway is running, and that Redis cannot be reached', async () => {
    await using empty = await startRedisServer();
    const run = (url: string) => runOps(['status'], { REDIS_URL: url });
    const none = await run(empty.url);
    expect(none).toMatchObject({ code: 1, stderr: '' });
    expect(none.stdout).toMatch(/^1 critical problem\b[^]*critical: No gateway is running\n/);
    await empty.kill();
    const { code, stdout, stderr } = await run(empty.url);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^ops: Redis at .* cannot be reached: .* Do not restart gateways .* See "GatewayWithoutRedis" in /,
    );
  });
});
