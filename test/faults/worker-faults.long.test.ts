import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { readEmbeddedRedisUrl } from '../../gateway/platform/redis/embedded/embedded-redis.ts';
import { parseRaw, send, sendRaw } from '../support/http/http.ts';
import { createSockets } from '../support/http/open-socket.ts';
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

  const statusOf = (key: string, request = pets) =>
    request(key).then(
      ({ status }) => status,
      () => 'failed',
    );

  test('replaces a killed worker, keeps serving, and its counters never decrease', async () => {
    const { key } = await kit.issue({ plan: 'business', minute: 100_000, day: 100_000 });
    await using load = startLoad(6, () => statusOf(key));
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
    for (const secondSignal of [false, true]) {
      await using gateway = await startGateway({ ...threeWorkers, ...kit.env }, { ownGroup: true });
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

  test('replaces a hanging worker while the others serve', { timeout: 90_000 }, async () => {
    await using gateway = await startGateway({ ...threeWorkers, ...kit.env });
    kit.upstream.response = respondWithPets;
    const { pets, metrics } = createGatewayObserver(() => gateway);
    const { key } = await kit.issue({ plan: 'business', minute: 1_000_000, day: 1_000_000 });
    expect(await Promise.all(Array.from({ length: 9 }, () => statusOf(key, pets)))).toEqual(
      Array(9).fill(200),
    );
    await expect.poll(metrics).toMatch(/^gateway_requests_total\{.*status="2xx".*\} 9$/m);
    const [hangingPid] = await waitForWorkers(gateway, workers);
    process.kill(hangingPid, 'SIGSTOP');
    // The metrics include the last report of a worker that does not reply.
    expect(await metrics()).toMatch(/^gateway_requests_total\{.*status="2xx".*\} 9$/m);
    await using load = startLoad(4, () => statusOf(key, pets), 20);
    const hangs = '"msg":"worker does not respond; killing it"';
    await expect.poll(() => gateway.output(), { timeout: 40_000 }).toContain(hangs);
    await waitForWorkers(gateway, workers + 1, 40_000);
    const { 200: ok = 0, ...others } = countOutcomes(await load.stop());
    expect(ok).toBeGreaterThan(100);
    // The one connection that the hanging worker was handed.
    expect(others).toEqual({ failed: 1 });
    expect(await metrics()).toContain('gateway_worker_restarts_total 1\n');
  });

  test('reports metrics and readiness of all workers together', async () => {
    await using gateway = await startGateway({ ...threeWorkers, ...kit.env });
    kit.upstream.response = respondWithPets;
    const { pets, sum, readiness } = createGatewayObserver(() => gateway);
    const { key } = await kit.issue({ plan: 'business' });
    await Promise.all(Array.from({ length: 50 }, () => pets(key)));
    await expect.poll(() => sum('gateway_requests_total', 'plan="business"')).toBe(50);
    expect(await sum('gateway_request_duration_seconds_count', 'route="/v1/pets"')).toBe(50);
    expect(await sum('gateway_upstream_duration_seconds_count')).toBe(50);
    expect(await sum('gateway_workers')).toBe(workers);
    expect(await sum('gateway_worker_restarts_total')).toBe(0);
    const sockets = Array.from({ length: 7 }, () => connect(gateway.port, '127.0.0.1'));
    await expect.poll(() => sum('gateway_connections')).toBe(7);
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => sum('gateway_connections')).toBe(0);
    // Gauges that are not counts are not summed.
    await expect.poll(() => sum('gateway_upstream_up')).toBe(1);
    expect(await sum('process_start_time_seconds')).toBeLessThan(Date.now() / 1000);
    expect(await sum('gateway_local_mode')).toBe(0);
    const upstreams = { [kit.upstream.url]: 'ready' };
    await expect.poll(readiness).toMatchObject({ status: 'ok', redis: 'ok', upstreams });
    await kit.server.kill();
    await expect.poll(readiness).toMatchObject({ status: 'ok', redis: 'unavailable', upstreams });
    await expect.poll(() => sum('gateway_local_mode')).toBe(1);
    await kit.server.restart();
  });
});

test(
  'workers that cannot start are reported once, and leave no worker and no Redis behind',
  { tags: ['redis-server'] },
  async () => {
    await using directory = await temporaryDirectory();
    // Ids of workers count from 1.
    const worker = "const{worker}=(await(import('node:cluster'))).default";
    const { code, stdout, stderr } = await runProgram(['gateway/server.ts'], {
      ...threeWorkers,
      GATEWAY_PORT: '0',
      GATEWAY_ADMIN_PORT: '0',
      DATA_DIR: directory.path,
      NODE_OPTIONS: `--import=data:text/javascript,${worker};if(worker&&worker.id>1)process.exit(7)`,
    });
    expect(code).toBe(1);
    expect(stderr).toBe('gateway: a worker exited at its start (exit code 7)\n');
    const [, pid] = /"pid":(\d+),"msg":"worker is ready"/.exec(stdout) ?? [];
    expect(isRunning(Number(pid))).toBe(false);
    // The private Redis has stopped: its lock and its address are removed.
    expect(readEmbeddedRedisUrl(directory.path)).toBeUndefined();
  },
);

describe('connection limits with several workers', { tags: ['redis-server'] }, () => {
  const { open, closeAll } = createSockets();
  afterEach(closeAll);

  const request = (key: string) =>
    `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`;

  /** A request without its body. An idle connection would give way to another one. */
  const unfinishedRequest = (key: string) =>
    request(key).replace('GET', 'POST').trimEnd() +
    '\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n';

  test.each([
    ['MAX_CONNECTIONS', 503],
    ['MAX_CONNECTIONS_PER_ADDRESS', 429],
  ])('each worker has its share of %s, rounded up', async (setting, status) => {
    await using kit = await startGatewayKit({ ...threeWorkers, [setting]: '20' });
    const { key } = await kit.issue({ plan: 'business' });
    const { port, adminUrl } = kit.gateway;
    const most = workers * Math.ceil(20 / workers);
    // A busy worker gets fewer than its turn.
    const all: Socket[] = [];
    while (all.length < 4 * most) {
      // One at a time, so that the workers get them round robin.
      const { socket } = open(port, unfinishedRequest(key));
      await once(socket, 'connect');
      all.push(socket);
    }
    const opened = () => all.filter(({ destroyed, readyState }) => !destroyed && readyState === 'open');
    await expect.poll(() => opened().length, { timeout: 5000 }).toBe(most);
    expect((await send(`${adminUrl}/metrics`)).text).toContain(`gateway_connections ${most}\n`);
    const newConnectionStatus = async () => parseRaw(await sendRaw(port, request(key))).status;
    expect(await newConnectionStatus()).toBe(status);
    const responses = opened().map((socket) => once(socket, 'data'));
    for (const socket of opened()) socket.write('{}');
    const lines = (await Promise.all(responses)).map(([bytes]) => String(bytes).split('\r\n')[0] ?? '');
    expect(countOutcomes(lines)).toEqual({ 'HTTP/1.1 200 OK': most });
    await expect.poll(newConnectionStatus).toBe(200);
  });
});
