import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { send } from '../support/http/http.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';
import { untilWorkers } from '../support/kits/worker-processes.ts';
import { startLoad, tally } from '../support/load/steady-load.ts';

const hangs = '"msg":"worker hangs and is killed"';
const timeout = 90_000;

function get(kit: GatewayKit, key: string): Promise<number | string> {
  return send(`${kit.gateway.url}/v1/pets`, { key, headers: { connection: 'close' } }).then(
    ({ status }) => status,
    () => 'failed',
  );
}

test(
  'a worker that hangs is replaced, and meanwhile the others serve',
  { tags: ['redis-server'], timeout },
  async () => {
    await using kit = await startGatewayKit({ GATEWAY_WORKERS: '3' });
    const { key } = await kit.issue({ plan: 'business', minute: 1_000_000, day: 1_000_000 });
    expect(await Promise.all(Array.from({ length: 9 }, () => get(kit, key)))).toEqual(Array(9).fill(200));
    const metrics = async () => (await send(`${kit.gateway.adminUrl}/metrics`)).text;
    await expect.poll(metrics).toMatch(/^gateway_requests_total\{.*status="2xx".*\} 9$/m);
    const [stuck] = await untilWorkers(kit.gateway, 3);
    process.kill(stuck, 'SIGSTOP');
    // Not answered by one, metrics tell what it said last.
    expect(await metrics()).toMatch(/^gateway_requests_total\{.*status="2xx".*\} 9$/m);
    await using load = startLoad(4, () => get(kit, key), 20);
    await expect.poll(() => kit.gateway.output(), { timeout: 40_000 }).toContain(hangs);
    await untilWorkers(kit.gateway, 4, 40_000);
    const { 200: ok = 0, ...others } = tally(await load.stop());
    expect(ok).toBeGreaterThan(100);
    // The one connection that it was handed.
    expect(others).toEqual({ failed: 1 });
    expect(await metrics()).toContain('gateway_worker_restarts_total 1\n');
  },
);

test(
  'a machine that stood still costs no worker its place',
  { tags: ['redis-server'], timeout },
  async () => {
    await using kit = await startGatewayKit({ GATEWAY_WORKERS: '3' });
    const { key } = await kit.issue();
    const pids = [kit.gateway.pid, ...(await untilWorkers(kit.gateway, 3))];
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    await sleep(25_000);
    for (const pid of pids) process.kill(pid, 'SIGCONT');
    await sleep(3000);
    expect(kit.gateway.output()).not.toContain(hangs);
    await untilWorkers(kit.gateway, 3);
    expect(await get(kit, key)).toBe(200);
  },
);
