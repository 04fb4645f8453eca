import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { readEmbeddedRedisUrl } from '../../gateway/platform/redis/embedded/embedded-redis.ts';
import { send } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { runProgram, startGateway } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import {
  createGatewayObserver,
  isRunning,
  threeWorkers,
  waitForWorkers,
  workers,
} from '../support/kits/worker-processes.ts';
import { countOutcomes, startLoad } from '../support/load/steady-load.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

describe('a gateway with three workers', { tags: ['redis-server'] }, () => {
  const kit = shared(() => startGatewayKit(threeWorkers));

  const { pets, sum, readiness } = createGatewayObserver(() => kit.gateway);

  /** Sends requests to which the upstream does not respond yet. Their own connections spread them over all workers. */
  async function startPendingRequests(count: number, url = kit.gateway.url) {
    const { key } = await kit.issue({ plan: 'business' });
    const pending: (() => void)[] = [];
    kit.upstream.response = (req, res) => void pending.push(() => respondWithPets(req, res));
    const request = () =>
      send(`${url}/v1/pets`, { key, headers: { connection: 'close' } }).then(
        ({ status }) => status,
        () => 'failed',
      );
    const responses = Promise.all(Array.from({ length: count }, request));
    await expect.poll(() => pending.length).toBe(count);
    return { responses, finish: () => pending.forEach((respond) => respond()) };
  }

  test('replaces a killed worker, keeps serving, and its counters never decrease', async () => {
    const { key } = await kit.issue({ plan: 'business', minute: 100_000, day: 100_000 });
    await using load = startLoad(6, () =>
      pets(key).then(
        ({ status }) => status,
        () => 'failed',
      ),
    );
    await expect.poll(() => load.outcomes.length).toBeGreaterThan(100);
    const before = await sum('gateway_requests_total', 'status="2xx"');
    expect(before).toBeGreaterThan(50);
    const [killedPid] = await waitForWorkers(kit.gateway, workers);
    process.kill(killedPid, 'SIGKILL');
    const counts = [before];
    const replaced = waitForWorkers(kit.gateway, workers + 1);
    while ((await Promise.race([replaced, sleep(20)])) === undefined)
      counts.push(await sum('gateway_requests_total', 'status="2xx"'));
    await expect
      .poll(readiness)
      .toMatchObject({ status: 'ok', workers: { ready: workers, wanted: workers } });
    counts.push(await sum('gateway_requests_total', 'status="2xx"'));
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(await sum('gateway_worker_restarts_total')).toBe(1);
    expect(kit.gateway.output()).toMatch(
      new RegExp(`"level":50,.*"pid":${killedPid},"end":"SIGKILL","msg":"worker exited unexpectedly"`),
    );
    const served = load.outcomes.length;
    await expect.poll(() => load.outcomes.length).toBeGreaterThan(served + 50);
    const { 200: ok = 0, failed = 0, ...others } = countOutcomes(await load.stop());
    expect(others).toEqual({});
    // At most the six requests in flight and the connection that the worker was being handed.
    expect(failed).toBeLessThanOrEqual(7);
    expect(ok).toBeGreaterThan(150);
  });

  test('treats Ctrl-C, which signals all its processes, as one signal; a second Ctrl-C aborts requests', async () => {
    const env = { ...kit.env };
    for (const secondSignal of [false, true]) {
      await using gateway = await startGateway({ ...threeWorkers, ...env }, { ownGroup: true });
      const { responses, finish } = await startPendingRequests(6, gateway.url);
      // A terminal signals the whole process group.
      process.kill(-gateway.pid, 'SIGINT');
      await expect
        .poll(async () => (await send(`${gateway.adminUrl}/readyz`)).json)
        .toMatchObject({ status: 'draining' });
      if (secondSignal) process.kill(-gateway.pid, 'SIGINT');
      else finish();
      expect(await responses).toEqual(Array(6).fill(secondSignal ? 'failed' : 200));
      expect(await gateway.exited).toBe(0);
      expect(gateway.output()).not.toContain('"level":50');
    }
  });
});

describe('starting several workers', { tags: ['redis-server'] }, () => {
  const env = { ...threeWorkers, GATEWAY_PORT: '0', GATEWAY_ADMIN_PORT: '0' };
  /** NODE_OPTIONS that make workers with a higher id exit at startup. Ids count from 1. */
  const failWorkersAbove = (id: number) => {
    const worker = "const{worker}=(await(import('node:cluster'))).default";
    return `--import=data:text/javascript,${worker};if(worker&&worker.id>${id})process.exit(7)`;
  };

  test('reports once that workers cannot start, and leaves no worker and no Redis behind', async () => {
    await using directory = await temporaryDirectory();
    const settings = { ...env, DATA_DIR: directory.path, NODE_OPTIONS: failWorkersAbove(1) };
    const { code, stdout, stderr } = await runProgram(['gateway/server.ts'], settings);
    expect(code).toBe(1);
    expect(stderr).toBe('gateway: a worker exited at its start (exit code 7)\n');
    const [, pid] = /"pid":(\d+),"msg":"worker is ready"/.exec(stdout) ?? [];
    expect(isRunning(Number(pid))).toBe(false);
    // The private Redis has stopped: its lock and its address are removed.
    expect(readEmbeddedRedisUrl(directory.path)).toBeUndefined();
  });
});
