import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { freePort } from '../support/http/free-port.ts';
import { postJson, send } from '../support/http/http.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';
import { startGateway, type Service } from '../support/kits/service.ts';
import { startLoad, tally } from '../support/load/steady-load.ts';
import { upstreamLines, upstreamStates } from '../support/upstreams/upstream-state.ts';
import { respondWithPets, startUpstream, type Upstream } from '../support/upstreams/upstream.ts';

describe('two upstreams', () => {
  let kit: GatewayKit;
  let second: Upstream;
  let gateway: Service;
  let key: string;
  let pets: string;

  beforeAll(async () => {
    kit = await startGatewayKit();
    second = await startUpstream();
    gateway = await startGateway({
      REDIS_URL: kit.server.url,
      PETS_SERVICE_URL: `${kit.upstream.url}, ${second.url}`,
    });
    ({ key } = await kit.issue({ plan: 'business', minute: 1_000_000, day: 10_000_000 }));
    pets = `${gateway.url}/v1/pets`;
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await second[Symbol.asyncDispose]();
    await kit[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    for (const upstream of [kit.upstream, second]) {
      upstream.response = respondWithPets;
      upstream.readiness = (res) => res.end();
    }
    await expect.poll(() => upstreamStates(gateway)).toEqual(states('ready', 'ready'));
    for (let index = 0; index < 2; index += 1) await send(pets, { key });
    for (const upstream of [kit.upstream, second]) upstream.seen.length = 0;
  });

  const states = (first: string, other: string) => ({ [kit.upstream.url]: first, [second.url]: other });
  const seen = () => [kit.upstream.seen.length, second.seen.length];

  test('have half of the requests each', async () => {
    for (let index = 0; index < 100; index += 1) expect((await send(pets, { key })).status).toBe(200);
    expect(seen()).toEqual([50, 50]);
  });

  test('one that is slow has no more than it can take', async () => {
    kit.upstream.response = (req, res) => void setTimeout(() => respondWithPets(req, res), 200);
    await using load = startLoad(8, async () => (await send(pets, { key })).status);
    await expect.poll(() => second.seen.length).toBeGreaterThan(500);
    const outcomes = await load.stop();
    expect(tally(outcomes)).toEqual({ 200: outcomes.length });
    expect(kit.upstream.seen.length).toBeLessThan(second.seen.length / 2);
  });

  test('one that says it drains has no new requests, and has them again when it is ready', async () => {
    kit.upstream.readiness = (res) => res.writeHead(503).end();
    await expect.poll(() => upstreamStates(gateway)).toEqual(states('not_ready', 'ready'));
    for (let index = 0; index < 20; index += 1) await send(pets, { key });
    expect(seen()).toEqual([0, 20]);
    kit.upstream.readiness = (res) => res.end();
    await expect.poll(() => upstreamStates(gateway)).toEqual(states('ready', 'ready'));
    for (let index = 0; index < 20; index += 1) await send(pets, { key });
    expect(seen()).toEqual([10, 30]);
  });

  test('a GET that lost its connection is answered by the other one; a POST is sent once', async () => {
    kit.upstream.response = (req) => req.socket.destroy();
    for (let index = 0; index < 4; index += 1) expect((await send(pets, { key })).status).toBe(200);
    expect(second.seen.length).toBe(4);
    const before = seen();
    const statuses = [];
    for (let index = 0; index < 2; index += 1) statuses.push((await postJson(pets, key, {})).status);
    expect(tally(statuses)).toEqual({ 200: 1, 502: 1 });
    expect(seen()).toEqual(before.map((count) => count + 1));
  });

  test('one that fails is left out, and no GET fails for it', async () => {
    kit.upstream.response = (req) => req.socket.destroy();
    kit.upstream.readiness = (res) => res.destroy();
    await using load = startLoad(4, async () => (await send(pets, { key })).status);
    await expect.poll(() => upstreamStates(gateway)).toEqual(states('down', 'ready'));
    const sent = kit.upstream.seen.length;
    const before = load.outcomes.length;
    await expect.poll(() => load.outcomes.length - before).toBeGreaterThan(200);
    const outcomes = await load.stop();
    expect(tally(outcomes)).toEqual({ 200: outcomes.length });
    expect(kit.upstream.seen.length).toBe(sent);
  });
});

describe('an upstream that is not there', () => {
  let kit: GatewayKit;
  let key: string;

  beforeAll(async () => {
    kit = await startGatewayKit();
    ({ key } = await kit.issue({ plan: 'business', minute: 1_000_000, day: 10_000_000 }));
  });

  afterAll(() => kit[Symbol.asyncDispose]());

  test('costs no request, POSTs included, since none was sent there', async () => {
    const dead = `http://127.0.0.1:${await freePort()}`;
    const gateway = await startGateway({
      REDIS_URL: kit.server.url,
      PETS_SERVICE_URL: `${dead},${kit.upstream.url}`,
    });
    kit.upstream.seen.length = 0;
    const statuses = [];
    for (let index = 0; index < 20; index += 1) {
      statuses.push((await postJson(`${gateway.url}/v1/pets`, key, { name: `Rex ${index}` })).status);
      statuses.push((await send(`${gateway.url}/v1/pets`, { key })).status);
    }
    expect(tally(statuses)).toEqual({ 200: 40 });
    const bodies = kit.upstream.seen.flatMap(({ method, body }) => (method === 'POST' ? [body] : []));
    expect(bodies).toEqual(Array.from({ length: 20 }, (_, index) => `{"name":"Rex ${index}"}`));
    expect(await upstreamStates(gateway)).toMatchObject({ [dead]: 'down' });
    expect(upstreamLines(gateway.output())).toContain('upstream is down and ejected');
    await gateway[Symbol.asyncDispose]();
  });

  test('nor does one without a route, once the time for connecting is over', async () => {
    const gateway = await startGateway({
      REDIS_URL: kit.server.url,
      // For documentation only (RFC 5737).
      PETS_SERVICE_URL: `http://192.0.2.1:3001,${kit.upstream.url}`,
    });
    const statuses = await Promise.all(
      Array.from({ length: 8 }, async (_, index) =>
        index % 2 === 0
          ? (await send(`${gateway.url}/v1/pets`, { key })).status
          : (await postJson(`${gateway.url}/v1/pets`, key, {})).status,
      ),
    );
    expect(tally(statuses)).toEqual({ 200: 8 });
    await gateway[Symbol.asyncDispose]();
  });

  test('all of them: 503 at once, and service as soon as one of them is back', async () => {
    const ports = [await freePort(), await freePort()];
    const urls = ports.map((port) => `http://127.0.0.1:${port}`);
    const gateway = await startGateway({ REDIS_URL: kit.server.url, PETS_SERVICE_URL: urls.join(',') });
    const statuses = [];
    for (let index = 0; index < 20; index += 1) {
      const response = await send(`${gateway.url}/v1/pets`, { key });
      expect(response.json).toMatchObject({ code: 'upstream_unavailable' });
      expect(response.header('Retry-After')).toBe('1');
      statuses.push(response.status);
    }
    expect(tally(statuses)).toEqual({ 503: 20 });
    expect(Object.values(await upstreamStates(gateway))).toEqual(['down', 'down']);
    const back = await startUpstream(ports[1]);
    await expect.poll(async () => (await send(`${gateway.url}/v1/pets`, { key })).status).toBe(200);
    for (let index = 0; index < 10; index += 1)
      expect((await postJson(`${gateway.url}/v1/pets`, key, {})).status).toBe(200);
    await gateway[Symbol.asyncDispose]();
    await back[Symbol.asyncDispose]();
  });

  test('two of three that are gone: a request that cannot be sent comes to the third, whatever its method', async () => {
    const third = await startUpstream();
    const urls = [
      ...[await freePort(), await freePort()].map((port) => `http://127.0.0.1:${port}`),
      third.url,
    ];
    await using gateway = await startGateway({ REDIS_URL: kit.server.url, PETS_SERVICE_URL: urls.join(',') });
    const statuses = [];
    for (let index = 0; index < 10; index += 1) {
      statuses.push((await postJson(`${gateway.url}/v1/pets`, key, {})).status);
      statuses.push((await send(`${gateway.url}/v1/pets`, { key })).status);
    }
    expect(tally(statuses)).toEqual({ 200: 20 });
    expect(third.seen).toHaveLength(20);
    await third[Symbol.asyncDispose]();
  });

  test('one that never answered is left out while another is ready, and so is one that drained and went', async () => {
    const [ready, draining] = [await startUpstream(), await startUpstream()];
    draining.readiness = (res) => res.writeHead(503).end();
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => {
      silent.listen(0, '127.0.0.1', resolve);
    });
    const silentUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const urls = [ready.url, draining.url, silentUrl].join(',');
    await using gateway = await startGateway({ REDIS_URL: kit.server.url, PETS_SERVICE_URL: urls });
    await expect
      .poll(() => upstreamStates(gateway))
      .toEqual({ [ready.url]: 'ready', [draining.url]: 'not_ready', [silentUrl]: 'down' });
    await draining[Symbol.asyncDispose]();
    await expect.poll(async () => (await upstreamStates(gateway))[draining.url]).toBe('down');
    await ready[Symbol.asyncDispose]();
    silent.close();
  });

  test('one that breaks off in the middle of saying that it is ready is not believed', async () => {
    const upstream = await startUpstream();
    await using gateway = await startGateway({ REDIS_URL: kit.server.url, PETS_SERVICE_URL: upstream.url });
    await expect.poll(async () => (await upstreamStates(gateway))[upstream.url]).toBe('ready');
    upstream.readiness = (res) => {
      res.writeHead(200, { 'content-length': 20 });
      res.write('{');
    };
    await expect.poll(async () => (await upstreamStates(gateway))[upstream.url]).toBe('down');
    await upstream[Symbol.asyncDispose]();
  });

  test('at an IPv6 address that is there, requests go there', { tags: ['ipv6'] }, async () => {
    const upstream = await startUpstream(0, '::1');
    const gateway = await startGateway({ REDIS_URL: kit.server.url, PETS_SERVICE_URL: upstream.url });
    expect(upstream.url).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect((await send(`${gateway.url}/v1/pets`, { key })).status).toBe(200);
    await gateway[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });
});
