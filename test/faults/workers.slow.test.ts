import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { fresh } from '../support/kits/shared.ts';
import { createGatewayObserver, threeWorkers, workers } from '../support/kits/worker-processes.ts';

describe('a gateway with three workers', { tags: ['redis-server'] }, () => {
  const kit = fresh(() => startGatewayKit(threeWorkers));

  const { pets, sum, readiness } = createGatewayObserver(() => kit.gateway);

  test('reports metrics and readiness of all workers together', async () => {
    const { key } = await kit.issue({ plan: 'business' });
    await Promise.all(Array.from({ length: 50 }, () => pets(key)));
    await expect.poll(() => sum('gateway_requests_total', 'plan="business"')).toBe(50);
    expect(await sum('gateway_request_duration_seconds_count', 'route="/v1/pets"')).toBe(50);
    expect(await sum('gateway_upstream_duration_seconds_count')).toBe(50);
    expect(await sum('gateway_workers')).toBe(workers);
    expect(await sum('gateway_worker_restarts_total')).toBe(0);
    const sockets = Array.from({ length: 7 }, () => connect(kit.gateway.port, '127.0.0.1'));
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
  });
});
