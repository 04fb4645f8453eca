import { expect, test } from 'vitest';
import { send } from '../support/http/http.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';
import { waitForWorkers } from '../support/kits/worker-processes.ts';
import { countOutcomes, startLoad } from '../support/load/steady-load.ts';

const hangMessage = '"msg":"worker does not respond; killing it"';
const timeout = 90_000;

function getPetsStatus(kit: GatewayKit, key: string): Promise<number | string> {
  return send(`${kit.gateway.url}/v1/pets`, { key, headers: { connection: 'close' } }).then(
    ({ status }) => status,
    () => 'failed',
  );
}

test('a hanging worker is replaced while the others serve', { tags: ['redis-server'], timeout }, async () => {
  await using kit = await startGatewayKit({ GATEWAY_WORKERS: '3' });
  const { key } = await kit.issue({ plan: 'business', minute: 1_000_000, day: 1_000_000 });
  expect(await Promise.all(Array.from({ length: 9 }, () => getPetsStatus(kit, key)))).toEqual(
    Array(9).fill(200),
  );
  const metrics = async () => (await send(`${kit.gateway.adminUrl}/metrics`)).text;
  await expect.poll(metrics).toMatch(/^gateway_requests_total\{.*status="2xx".*\} 9$/m);
  const [hangingPid] = await waitForWorkers(kit.gateway, 3);
  process.kill(hangingPid, 'SIGSTOP');
  // The metrics include the last report of a worker that does not reply.
  expect(await metrics()).toMatch(/^gateway_requests_total\{.*status="2xx".*\} 9$/m);
  await using load = startLoad(4, () => getPetsStatus(kit, key), 20);
  await expect.poll(() => kit.gateway.output(), { timeout: 40_000 }).toContain(hangMessage);
  await waitForWorkers(kit.gateway, 4, 40_000);
  const { 200: ok = 0, ...others } = countOutcomes(await load.stop());
  expect(ok).toBeGreaterThan(100);
  // The one connection that the hanging worker was handed.
  expect(others).toEqual({ failed: 1 });
  expect(await metrics()).toContain('gateway_worker_restarts_total 1\n');
});
