import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { freePort } from '../support/http/free-port.ts';
import { postJson, send } from '../support/http/http.ts';
import { keyIssuer, startRedisClient } from '../support/kits/keys.ts';
import { startGateway, startPetsService, type Service } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { countOutcomes, startLoad, type SteadyLoad } from '../support/load/steady-load.ts';
import { createDatabase } from '../support/stores/stores.ts';
import { upstreamLogMessages, upstreamStates } from '../support/upstreams/upstream-state.ts';

interface Outcome {
  method: 'GET' | 'POST';
  status: number | string;
  name: string;
  startedAt: number;
}

const clients = 8;

describe('two pets services behind a gateway, under load', { tags: ['postgresql'] }, () => {
  const directory = shared(temporaryDirectory);
  const redis = shared(startRedisClient);
  const database = shared(
    async () => {
      const url = await createDatabase();
      const client = new pg.Client(url);
      await client.connect();
      return { url, client };
    },
    ({ client }) => client.end(),
  );
  /** A port each, and what runs there now. */
  const ports = shared(() => Promise.all([freePort(), freePort()]));
  const services = shared(
    async () => [await start(0), await start(1)],
    (started) => Promise.all(started.map((service) => service[Symbol.asyncDispose]())),
  );
  const gateway = shared(() =>
    startGateway({
      DATA_DIR: directory.path,
      REDIS_URL: redis.url,
      PETS_SERVICE_URL: ports.map((port) => `http://127.0.0.1:${port}`).join(','),
      UPSTREAM_TIMEOUT_MS: '1000',
    }),
  );
  let key: string;
  let petNumber = 0;
  beforeAll(async () => {
    ({ key } = await keyIssuer(redis).issue({ plan: 'business', minute: 1_000_000, day: 10_000_000 }));
  });

  // A failed test must not leave a killed service to the next test or to its own retry.
  afterEach(async () => {
    for (const [index, service] of services.entries()) {
      if (await Promise.race([service.exited.then(() => true), sleep(100, false)])) {
        services[index] = await start(index);
      }
    }
  });

  beforeEach(async () => {
    await expect.poll(states).toEqual(['ready', 'ready']);
  });

  const states = async () => Object.values(await upstreamStates(gateway));
  const start = (index: number) =>
    startPetsService({
      DATA_DIR: directory.path,
      DATABASE_URL: database.url,
      PETS_SERVICE_PORT: String(ports[index]),
      // As in production, a service drains before it exits.
      SHUTDOWN_DELAY_MS: '2000',
    });

  /** Half of the clients list pets, the other half create pets with unique names. */
  function startMixedLoad(): SteadyLoad<Outcome> {
    return startLoad(
      clients,
      async (client) => {
        const method = client % 2 === 0 ? 'GET' : 'POST';
        const name = `pet ${(petNumber += 1)}`;
        const url = `${gateway.url}/v1/pets`;
        const startedAt = performance.now();
        const sent = method === 'GET' ? send(url, { key }) : postJson(url, key, { name, categoryId: 1 });
        const status = await sent.then((response) => response.status, String);
        return { method, status, name, startedAt };
      },
      2,
    );
  }

  const countServed = (service: Service) => service.output().split('"msg":"request"').length - 1;
  const kinds = (outcomes: readonly Outcome[]) =>
    countOutcomes(outcomes.map(({ method, status }) => `${method} ${status}`));
  const failed = (outcomes: readonly Outcome[]) =>
    outcomes.filter(({ status }) => status !== 200 && status !== 201);
  const failedSince = (outcomes: readonly Outcome[], time: number) =>
    failed(outcomes).filter(({ startedAt }) => startedAt >= time);

  /** Expects each create with 201 to be stored exactly once, and every other create at most once. */
  async function expectStored(outcomes: readonly Outcome[]): Promise<void> {
    const names = outcomes.flatMap(({ method, name }) => (method === 'POST' ? [name] : []));
    const { rows } = await database.client.query<{ name: string; copies: string }>(
      'SELECT name, count(*) AS copies FROM pets WHERE name = ANY($1) GROUP BY name',
      [names],
    );
    expect(rows.filter(({ copies }) => copies !== '1')).toEqual([]);
    const stored = new Set(rows.map(({ name }) => name));
    expect(outcomes.filter(({ status, name }) => status === 201 && !stored.has(name))).toEqual([]);
  }

  test('a rolling restart of both loses no request, POSTs included', async () => {
    await using load = startMixedLoad();
    await expect.poll(() => load.outcomes.length).toBeGreaterThan(50);
    for (const [index, oldService] of services.entries()) {
      const before = load.outcomes.length;
      oldService.signal('SIGTERM');
      await expect.poll(states).toContain('not_ready');
      // Requests in flight finish within 500 ms. The service gets no others, so its exit cannot fail one.
      await sleep(500);
      const served = countServed(oldService);
      expect(await oldService.exited).toBe(0);
      expect(countServed(oldService)).toBe(served);
      const newService = await start(index);
      services[index] = newService;
      await expect.poll(states).toEqual(['ready', 'ready']);
      expect(load.outcomes.length).toBeGreaterThan(before + 100);
      // The new instance gets requests too.
      await expect.poll(() => countServed(newService)).toBeGreaterThan(20);
    }
    const outcomes = await load.stop();
    expect(failed(outcomes)).toEqual([]);
    expect(Object.keys(kinds(outcomes)).toSorted()).toEqual(['GET 200', 'POST 201']);
    await expectStored(outcomes);
  });

  test('SIGKILL of one instance fails its requests in flight and no others', async () => {
    const outputBefore = gateway.output().length;
    await using load = startMixedLoad();
    await expect.poll(() => load.outcomes.length).toBeGreaterThan(50);
    services[0]?.signal('SIGKILL');
    await services[0]?.exited;
    await expect.poll(states).toEqual(['down', 'ready']);
    const countWhenDown = load.outcomes.length;
    const downAt = performance.now();
    await expect.poll(() => load.outcomes.length - countWhenDown).toBeGreaterThan(200);
    const outcomes = await load.stop();
    // Only creates that the killed instance may have executed fail. All others went to the other instance.
    expect(failed(outcomes).length).toBeLessThanOrEqual(clients / 2);
    expect(new Set(failed(outcomes).map(({ method, status }) => `${method} ${status}`))).toSatisfy(
      (kindsOfFailure: Set<string>) => kindsOfFailure.isSubsetOf(new Set(['POST 502'])),
    );
    expect(failedSince(outcomes, downAt)).toEqual([]);
    await expectStored(outcomes);
    services[0] = await start(0);
    await expect.poll(states).toEqual(['ready', 'ready']);
    expect(upstreamLogMessages(gateway.output().slice(outputBefore))).toEqual(
      // A probe during its start may log that it is not ready.
      expect.arrayContaining(['upstream is down and ejected', 'upstream is ready again']),
    );
  });
});
