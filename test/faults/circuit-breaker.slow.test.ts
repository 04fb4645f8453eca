import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { postJson, send } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { countOutcomes, startLoad } from '../support/load/steady-load.ts';
import { upstreamLogMessages, upstreamStates, upstreamUp } from '../support/upstreams/upstream-state.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

describe('the circuit breaker', () => {
  let key: string;
  let pets: string;
  let outputBefore: number;

  const kit = shared(() => startGatewayKit({ UPSTREAM_TIMEOUT_MS: '500' }));
  beforeAll(async () => {
    ({ key } = await kit.issue({ plan: 'business', minute: 1_000_000, day: 10_000_000 }));
    pets = `${kit.gateway.url}/v1/pets`;
  });

  beforeEach(async () => {
    kit.upstream.response = respondWithPets;
    kit.upstream.readiness = (res) => res.end();
    await expect.poll(state).toBe('ready');
    expect(await getPets()).toBe(200);
    kit.upstream.seen.length = 0;
    outputBefore = kit.gateway.output().length;
  });

  const state = async () => (await upstreamStates(kit.gateway))[kit.upstream.url];
  const output = () => kit.gateway.output().slice(outputBefore);
  const getPets = async () => (await send(pets, { key })).status;

  test('stops requests to a hanging upstream, logs that once, and closes when the upstream is ready again', async () => {
    let probes = 0;
    kit.upstream.response = () => {};
    kit.upstream.readiness = () => {
      probes += 1;
    };
    const clients = 10;
    await using load = startLoad(clients, getPets, 5);
    await expect.poll(state).toBe('down');
    // After 50 refusals, all requests that were sent before the breaker opened have arrived.
    await expect.poll(() => countOutcomes(load.outcomes)['503'] ?? 0).toBeGreaterThan(50);
    const sentToUpstream = kit.upstream.seen.length;
    // Each client has one request in flight, and at most one that ended before the breaker opened.
    expect(sentToUpstream).toBeLessThanOrEqual(2 * clients);
    const before = load.outcomes.length;
    const probesBefore = probes;
    await expect.poll(() => load.outcomes.length - before).toBeGreaterThan(200);
    await expect.poll(() => probes - probesBefore).toBeGreaterThanOrEqual(1);
    const outcomes = await load.stop();
    expect(kit.upstream.seen.length).toBe(sentToUpstream);
    expect(countOutcomes(outcomes)).toEqual({ 503: outcomes.length - sentToUpstream, 504: sentToUpstream });

    const refused = await send(pets, { key });
    expect(refused.json).toMatchObject({ code: 'upstream_unavailable', status: 503 });
    expect(refused.headers).toMatchObject({ 'retry-after': '1', 'x-ratelimit-limit': '1000000' });
    expect(await upstreamUp(kit.gateway, kit.upstream.url)).toBe(0);

    kit.upstream.response = respondWithPets;
    kit.upstream.readiness = (res) => res.end();
    // A probe detects the recovery, not a client's request.
    await expect.poll(state).toBe('ready');
    expect(kit.upstream.seen.length).toBe(sentToUpstream);
    expect(await upstreamUp(kit.gateway, kit.upstream.url)).toBe(1);
    expect(await Promise.all(Array.from({ length: 50 }, getPets))).toEqual(Array(50).fill(200));
    expect(upstreamLogMessages(output())).toEqual([
      'upstream is down and ejected',
      'upstream is ready again',
    ]);
    // Requests that the breaker refuses get no warning line.
    const warnings = output().match(/"level":40[^\n]*"code":"upstream_\w+"/g) ?? [];
    expect(warnings.length).toBe(sentToUpstream);
  });

  test('waits longer after each failed recovery of an upstream that is ready but fails requests', async () => {
    kit.upstream.response = (req) => req.socket.end('garbage\r\n\r\n');
    await using load = startLoad(1, getPets, 2);
    // Five open the breaker. One fails after the immediate first recovery, one after the second, 1 s later.
    // The third recovery takes 2 s.
    await expect.poll(() => kit.upstream.seen.length).toBe(7);
    await expect.poll(state).toBe('down');
    const outcomes = await load.stop();
    expect(countOutcomes(outcomes)).toEqual({ 502: 7, 503: outcomes.length - 7 });
    expect(outcomes.length).toBeGreaterThan(20);
    kit.upstream.response = respondWithPets;
    await expect.poll(getPets, { timeout: 20_000 }).toBe(200);
    expect(upstreamLogMessages(output()).filter((line) => line.includes('ejected'))).toHaveLength(3);
    // One success resets the count of failed recoveries.
    const sentToUpstream = kit.upstream.seen.length;
    kit.upstream.response = (req) => req.socket.end('garbage\r\n\r\n');
    for (let index = 0; index < 4; index += 1) expect(await getPets()).toBe(502);
    expect(kit.upstream.seen.length - sentToUpstream).toBe(4);
    expect(await state()).toBe('ready');
  });

  test('does not open on error responses of the upstream', async () => {
    kit.upstream.response = (_req, res) => {
      res.writeHead(503, { 'content-type': 'application/json' });
      res.end('{"code":"service_unavailable","message":"Later.","status":503}');
    };
    for (let index = 0; index < 20; index += 1) {
      expect((await send(pets, { key })).json).toMatchObject({ code: 'service_unavailable' });
    }
    expect(kit.upstream.seen).toHaveLength(20);
    expect(await state()).toBe('ready');
  });

  test('treats an upstream without /readyz as ready', async () => {
    let probes = 0;
    kit.upstream.readiness = (res) => {
      probes += 1;
      res.writeHead(404, { 'content-type': 'text/html' }).end('<h1>No</h1>');
    };
    await expect.poll(() => probes).toBeGreaterThan(1);
    expect(await state()).toBe('ready');
    expect(await getPets()).toBe(200);
  });

  test('still sends requests to the only upstream while it drains', async () => {
    kit.upstream.readiness = (res) => res.writeHead(503).end();
    await expect.poll(state).toBe('not_ready');
    expect(await upstreamUp(kit.gateway, kit.upstream.url)).toBe(0);
    expect(await getPets()).toBe(200);
    expect((await postJson(pets, key, {})).status).toBe(200);
  });
});
