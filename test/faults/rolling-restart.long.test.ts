import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { freePort } from '../support/http/free-port.ts';
import { postJson, send } from '../support/http/http.ts';
import { connectRedis, keyIssuer } from '../support/kits/keys.ts';
import { startGateway, startPetsService, type Service } from '../support/kits/service.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startLoad, tally, type SteadyLoad } from '../support/load/steady-load.ts';
import { startAnyRedis } from '../support/stores/redis-server.ts';
import { createDatabase } from '../support/stores/stores.ts';
import { upstreamLines, upstreamStates } from '../support/upstreams/upstream-state.ts';

interface Outcome {
  method: 'GET' | 'POST';
  status: number | string;
  name: string;
  startedAt: number;
}

const clients = 8;
const upstreamTimeoutMs = 1000;

describe('two pets services behind a gateway, under load', { tags: ['postgresql'] }, () => {
  const stack = new AsyncDisposableStack();
  let env: Record<string, string>;
  let ports: number[];
  let services: Service[];
  let gateway: Service;
  let key: string;
  let database: pg.Client;
  let count = 0;

  beforeAll(async () => {
    const { path } = stack.use(await temporaryDirectory());
    const redis = stack.use(await startAnyRedis());
    const databaseUrl = await createDatabase();
    // As in production: two seconds in which it drains.
    env = { DATA_DIR: path, DATABASE_URL: databaseUrl, SHUTDOWN_DELAY_MS: '2000' };
    ports = [await freePort(), await freePort()];
    services = [];
    for (const index of ports.keys()) services[index] = await start(index);
    stack.defer(async () => {
      await Promise.all(services.map((service) => service[Symbol.asyncDispose]()));
    });
    gateway = stack.use(
      await startGateway({
        DATA_DIR: path,
        REDIS_URL: redis.url,
        PETS_SERVICE_URL: ports.map(urlOf).join(','),
        UPSTREAM_TIMEOUT_MS: String(upstreamTimeoutMs),
      }),
    );
    const client = await connectRedis(redis.url);
    stack.defer(() => client.disconnect());
    ({ key } = await keyIssuer(client).issue({ plan: 'business', minute: 1_000_000, day: 10_000_000 }));
    database = new pg.Client(databaseUrl);
    await database.connect();
    stack.defer(() => database.end());
  });

  afterAll(() => stack.disposeAsync());

  // A test that fails leaves no service behind that makes the next one fail, or itself when it is tried again.
  afterEach(async () => {
    for (const [index, service] of services.entries()) {
      service.signal('SIGCONT');
      if (await Promise.race([service.exited.then(() => true), sleep(100, false)])) {
        services[index] = await start(index);
      }
    }
  });

  beforeEach(async () => {
    await expect.poll(states).toEqual(['ready', 'ready']);
  });

  const urlOf = (port: number) => `http://127.0.0.1:${port}`;
  const states = async () => Object.values(await upstreamStates(gateway));
  const start = (index: number) => startPetsService({ ...env, PETS_SERVICE_PORT: String(ports[index]) });

  /** Half of the clients create pets, each with a name of its own. */
  function load(): SteadyLoad<Outcome> {
    return startLoad(
      clients,
      async (client) => {
        const method = client % 2 === 0 ? 'GET' : 'POST';
        const name = `pet ${(count += 1)}`;
        const url = `${gateway.url}/v1/pets`;
        const startedAt = performance.now();
        const sent = method === 'GET' ? send(url, { key }) : postJson(url, key, { name, categoryId: 1 });
        const status = await sent.then((response) => response.status, String);
        return { method, status, name, startedAt };
      },
      2,
    );
  }

  const requestsOf = (service: Service) => service.output().split('"msg":"request"').length - 1;
  const kinds = (outcomes: readonly Outcome[]) =>
    tally(outcomes.map(({ method, status }) => `${method} ${status}`));
  const failed = (outcomes: readonly Outcome[]) =>
    outcomes.filter(({ status }) => status !== 200 && status !== 201);
  const failedSince = (outcomes: readonly Outcome[], time: number) =>
    failed(outcomes).filter(({ startedAt }) => startedAt >= time);

  /** Every create that was answered 201 is there, once; of all others there is one at most. */
  async function expectStored(outcomes: readonly Outcome[]): Promise<void> {
    const names = outcomes.flatMap(({ method, name }) => (method === 'POST' ? [name] : []));
    const { rows } = await database.query<{ name: string; copies: string }>(
      'SELECT name, count(*) AS copies FROM pets WHERE name = ANY($1) GROUP BY name',
      [names],
    );
    expect(rows.filter(({ copies }) => copies !== '1')).toEqual([]);
    const stored = new Set(rows.map(({ name }) => name));
    expect(outcomes.filter(({ status, name }) => status === 201 && !stored.has(name))).toEqual([]);
  }

  test('a rolling restart of both loses no request, POSTs included', async () => {
    await using running = load();
    await sleep(300);
    for (const [index, old] of services.entries()) {
      const before = running.outcomes.length;
      old.signal('SIGTERM');
      await expect.poll(states).toContain('not_ready');
      // What was on its way there is over soon, and nothing comes after it: no request can meet the end.
      await sleep(500);
      const served = requestsOf(old);
      expect(await old.exited).toBe(0);
      expect(requestsOf(old)).toBe(served);
      const fresh = await start(index);
      services[index] = fresh;
      await expect.poll(states).toEqual(['ready', 'ready']);
      expect(running.outcomes.length).toBeGreaterThan(before + 100);
      // The new one has its share of the work.
      await expect.poll(() => requestsOf(fresh)).toBeGreaterThan(20);
    }
    const outcomes = await running.stop();
    expect(failed(outcomes)).toEqual([]);
    expect(Object.keys(kinds(outcomes)).toSorted()).toEqual(['GET 200', 'POST 201']);
    await expectStored(outcomes);
  });

  test('SIGKILL of one: its requests in flight fail, and no others', async () => {
    const outputBefore = gateway.output().length;
    await using running = load();
    await sleep(300);
    services[0]?.signal('SIGKILL');
    await services[0]?.exited;
    await expect.poll(states).toEqual(['down', 'ready']);
    const away = running.outcomes.length;
    const awayAt = performance.now();
    await expect.poll(() => running.outcomes.length - away).toBeGreaterThan(200);
    const outcomes = await running.stop();
    // Creates that it may have carried out. Whatever it had not seen was done by the other one.
    expect(failed(outcomes).length).toBeLessThanOrEqual(clients / 2);
    expect(new Set(failed(outcomes).map(({ method, status }) => `${method} ${status}`))).toSatisfy(
      (kindsOfFailure: Set<string>) => kindsOfFailure.isSubsetOf(new Set(['POST 502'])),
    );
    expect(failedSince(outcomes, awayAt)).toEqual([]);
    await expectStored(outcomes);
    services[0] = await start(0);
    await expect.poll(states).toEqual(['ready', 'ready']);
    expect(upstreamLines(gateway.output().slice(outputBefore))).toEqual(
      // It may be heard while it starts.
      expect.arrayContaining(['upstream is down and ejected', 'upstream is ready again']),
    );
  });

  test('SIGSTOP of one: its requests in flight get 504, all others are served, and it is used again', async () => {
    await using running = load();
    await sleep(300);
    services[1]?.signal('SIGSTOP');
    await expect.poll(states).toEqual(['ready', 'down']);
    const away = running.outcomes.length;
    const awayAt = performance.now();
    await expect.poll(() => running.outcomes.length - away).toBeGreaterThan(200);
    services[1]?.signal('SIGCONT');
    await expect.poll(states).toEqual(['ready', 'ready']);
    await sleep(300);
    const outcomes = await running.stop();
    expect(failed(outcomes).length).toBeLessThanOrEqual(clients);
    expect(new Set(failed(outcomes).map(({ status }) => status))).toEqual(new Set([504]));
    expect(failedSince(outcomes, awayAt)).toEqual([]);
    await expectStored(outcomes);
  });

  test('SIGKILL of both: 503 at once, no create answered 201 is missing, and all is well when they are back', async () => {
    await using running = load();
    await sleep(300);
    for (const service of services) service.signal('SIGKILL');
    await expect.poll(states).toEqual(['down', 'down']);
    const away = running.outcomes.length;
    const awayAt = performance.now();
    await expect.poll(() => running.outcomes.length - away).toBeGreaterThan(200);
    services = await Promise.all([start(0), start(1)]);
    await expect.poll(states).toEqual(['ready', 'ready']);
    const back = running.outcomes.length;
    const backAt = performance.now();
    await expect.poll(() => running.outcomes.length - back).toBeGreaterThan(200);
    const outcomes = await running.stop();
    expect(new Set(failed(outcomes).map(({ status }) => status))).toEqual(new Set([502, 503]));
    expect(failedSince(outcomes, backAt)).toEqual([]);
    // Nobody was sent anywhere in between.
    expect(tally(failedSince(outcomes, awayAt).map(({ status }) => status))).toEqual({
      503: failedSince(outcomes, awayAt).length,
    });
    // What was in flight, and what was sent before the ends of the connections were noticed.
    expect(failed(outcomes).filter(({ status }) => status === 502).length).toBeLessThanOrEqual(2 * clients);
    await expectStored(outcomes);
  });
});
