import { beforeAll, describe, expect, test } from 'vitest';
import type { LiveState } from '../../gateway/control/status/live-state.ts';
import { startGatewayFleet } from '../support/kits/gateway-fleet.ts';
import { openLive, problemTitles, type LiveConsole } from '../support/kits/live-kit.ts';
import { metricOf, startGateway } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';

const processesOf = ({ gateways }: LiveState) => gateways.flatMap(({ processes }) => processes);

describe('the state of a fleet of two gateways, one with two workers', { tags: ['redis-server'] }, () => {
  let consoles: LiveConsole[];

  const server = shared(startRedisServer);
  const fleet = shared(() =>
    startGatewayFleet(server.url, 2, (index) => (index === 0 ? {} : { GATEWAY_WORKERS: '2' })),
  );
  beforeAll(async () => {
    consoles = await Promise.all(fleet.gateways.map((gateway) => openLive(fleet.redis, gateway)));
  });

  const allSee = async (check: (state: LiveState) => void, timeoutMs?: number) => {
    for (const each of consoles) await each.until(check, timeoutMs);
  };

  const expectWhole = (state: LiveState) => {
    expect(state.redis).toHaveLength(1);
    expect(state.gateways.map(({ state, workers }) => ({ state, workers })).toSorted(byWorkers)).toEqual([
      { state: 'ok', workers: 1 },
      { state: 'ok', workers: 2 },
    ]);
    expect(processesOf(state)).toHaveLength(3);
  };

  test('shows on every console all processes, the upstream and Redis', async () => {
    await allSee((state) => {
      expectWhole(state);
      expect(state.upstreams).toEqual([
        { upstream: fleet.upstream.url, service: 'pets-service', state: 'ready', seenAs: { ready: 3 } },
      ]);
      expect(state.problems).toEqual([]);
      expect(state.redis).toMatchObject([
        { version: expect.stringMatching(/^\d+\./) as string, role: 'master', appendOnly: true },
      ]);
    });
    const addresses = (await consoles[0]?.read())?.gateways.map(
      ({ adminAddress }) => `http://${adminAddress}`,
    );
    expect(addresses?.toSorted()).toEqual(fleet.gateways.map(({ adminUrl }) => adminUrl).toSorted());
  });

  test('shows a gateway that hangs as not seen, and that it goes on', async () => {
    const [first, second] = fleet.gateways;
    first?.signal('SIGSTOP');
    await consoles[1]?.until((state) => {
      expect(state.gateways.find(({ workers }) => workers === 1)?.state).toBe('not_seen');
      expect(state.gateways.at(-1)?.workers).toBe(1);
      expect(problemTitles(state)).toContainEqual(expect.stringMatching(/^Gateway .* is not seen$/));
    });
    expect(second).toBeDefined();
    first?.signal('SIGCONT');
    await consoles[1]?.until((state) => {
      expectWhole(state);
      expect(problemTitles(state)).not.toContainEqual(expect.stringContaining('not seen'));
    });
  });

  test('says after an outage of Redis that there was one', async () => {
    const { key } = await fleet.issue({ plan: 'business' });
    expect((await fleet.pets(key)).status).toBe(200);
    await server.kill();
    const message = expect.stringContaining('GatewayWithoutRedis') as string;
    const body = { code: 'service_unavailable', message };
    for (const { api } of consoles)
      expect(await api.send('GET', '/api/live')).toMatchObject({ status: 503, body });
    expect((await fleet.pets(key)).status).toBe(200);
    await server.restart();
    await allSee((state) => {
      expectWhole(state);
      expect(problemTitles(state)).toContainEqual('Gateways were without Redis');
    }, 30_000);
    const [gateway] = fleet.gateways;
    expect(gateway && (await metricOf(gateway, 'gateway_local_mode_seconds_total'))).toBeGreaterThan(0);
  });

  test('no longer shows a gateway that was shut down, and shows one that was started', async () => {
    await using third = await startGateway({ REDIS_URL: server.url, PETS_SERVICE_URL: fleet.upstream.url });
    await allSee(({ gateways }) => expect(gateways).toHaveLength(3));
    await third.stop();
    await allSee(expectWhole);
  });
});

const byWorkers = (one: { workers: number }, other: { workers: number }) => one.workers - other.workers;
