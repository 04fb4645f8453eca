import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { freePort } from '../support/http/free-port.ts';
import { postJson, send } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { startGateway } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { countOutcomes, startLoad } from '../support/load/steady-load.ts';
import { upstreamLogMessages, upstreamStates } from '../support/upstreams/upstream-state.ts';
import { respondWithPets, startUpstream } from '../support/upstreams/upstream.ts';

let key: string;

const kit = shared(startGatewayKit);
beforeAll(async () => {
  ({ key } = await kit.issue({ plan: 'business', minute: 1_000_000, day: 10_000_000 }));
});

/** Another gateway, whose upstreams have these URLs. */
const startBefore = (...urls: string[]) =>
  startGateway({ REDIS_URL: kit.server.url, PETS_SERVICE_URL: urls.join(', ') });

describe('two upstreams', () => {
  const second = shared(startUpstream);
  const gateway = shared(() => startBefore(kit.upstream.url, second.url));

  beforeEach(async () => {
    for (const upstream of [kit.upstream, second]) {
      upstream.response = respondWithPets;
      upstream.readiness = (res) => res.end();
    }
    await expect.poll(() => upstreamStates(gateway)).toEqual(states('ready', 'ready'));
    for (let index = 0; index < 2; index += 1) await get();
    for (const upstream of [kit.upstream, second]) upstream.seen.length = 0;
  });

  const states = (first: string, other: string) => ({ [kit.upstream.url]: first, [second.url]: other });
  const get = async () => (await send(`${gateway.url}/v1/pets`, { key })).status;
  const requestCounts = () => [kit.upstream.seen.length, second.seen.length];

  test('each get half of the requests', async () => {
    for (let index = 0; index < 100; index += 1) expect(await get()).toBe(200);
    expect(requestCounts()).toEqual([50, 50]);
  });

  test('a slow upstream gets less than half as many requests as the other', async () => {
    kit.upstream.response = (req, res) => void setTimeout(() => respondWithPets(req, res), 200);
    await using load = startLoad(8, get);
    await expect.poll(() => second.seen.length).toBeGreaterThan(500);
    const outcomes = await load.stop();
    expect(countOutcomes(outcomes)).toEqual({ 200: outcomes.length });
    expect(kit.upstream.seen.length).toBeLessThan(second.seen.length / 2);
  });

  test('a draining upstream gets no new requests until it is ready again', async () => {
    kit.upstream.readiness = (res) => res.writeHead(503).end();
    await expect.poll(() => upstreamStates(gateway)).toEqual(states('not_ready', 'ready'));
    for (let index = 0; index < 20; index += 1) await get();
    expect(requestCounts()).toEqual([0, 20]);
    kit.upstream.readiness = (res) => res.end();
    await expect.poll(() => upstreamStates(gateway)).toEqual(states('ready', 'ready'));
    for (let index = 0; index < 20; index += 1) await get();
    expect(requestCounts()).toEqual([10, 30]);
  });

  test('a GET whose connection breaks is retried on the other upstream; a POST is sent once', async () => {
    kit.upstream.response = (req) => req.socket.destroy();
    for (let index = 0; index < 4; index += 1) expect(await get()).toBe(200);
    expect(second.seen.length).toBe(4);
    const before = requestCounts();
    const statuses = [];
    for (let index = 0; index < 2; index += 1)
      statuses.push((await postJson(`${gateway.url}/v1/pets`, key, {})).status);
    expect(countOutcomes(statuses)).toEqual({ 200: 1, 502: 1 });
    expect(requestCounts()).toEqual(before.map((count) => count + 1));
  });
});

describe('the availability of upstreams', () => {
  test('an upstream on a closed port fails no request, POSTs included, because none was sent to it', async () => {
    const closedUrl = `http://127.0.0.1:${await freePort()}`;
    await using gateway = await startBefore(closedUrl, kit.upstream.url);
    kit.upstream.response = respondWithPets;
    kit.upstream.seen.length = 0;
    const statuses = [];
    for (let index = 0; index < 20; index += 1) {
      statuses.push((await postJson(`${gateway.url}/v1/pets`, key, { name: `Rex ${index}` })).status);
      statuses.push((await send(`${gateway.url}/v1/pets`, { key })).status);
    }
    expect(countOutcomes(statuses)).toEqual({ 200: 40 });
    const bodies = kit.upstream.seen.flatMap(({ method, body }) => (method === 'POST' ? [body] : []));
    expect(bodies).toEqual(Array.from({ length: 20 }, (_, index) => `{"name":"Rex ${index}"}`));
    expect(await upstreamStates(gateway)).toMatchObject({ [closedUrl]: 'down' });
    expect(upstreamLogMessages(gateway.output())).toContain(
      'upstream does not respond yet; waiting for it to start',
    );
  });

  test('when all upstreams are down, requests get 503 at once, and succeed when one is back', async () => {
    const ports = [await freePort(), await freePort()];
    const urls = ports.map((port) => `http://127.0.0.1:${port}`);
    await using gateway = await startBefore(...urls);
    const statuses = [];
    for (let index = 0; index < 20; index += 1) {
      const response = await send(`${gateway.url}/v1/pets`, { key });
      expect(response.json).toMatchObject({ code: 'upstream_unavailable' });
      expect(response.header('Retry-After')).toBe('1');
      statuses.push(response.status);
    }
    expect(countOutcomes(statuses)).toEqual({ 503: 20 });
    expect(Object.values(await upstreamStates(gateway))).toEqual(['down', 'down']);
    await using _recovered = await startUpstream(ports[1]);
    await expect.poll(async () => (await send(`${gateway.url}/v1/pets`, { key })).status).toBe(200);
    for (let index = 0; index < 10; index += 1)
      expect((await postJson(`${gateway.url}/v1/pets`, key, {})).status).toBe(200);
  });

  test('an upstream at an IPv6 address gets requests', { tags: ['ipv6'] }, async () => {
    await using upstream = await startUpstream(0, '::1');
    await using gateway = await startBefore(upstream.url);
    expect(upstream.url).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect((await send(`${gateway.url}/v1/pets`, { key })).status).toBe(200);
  });
});
