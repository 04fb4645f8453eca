import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { postJson, send } from '../support/http/http.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';
import { startLoad, tally } from '../support/load/steady-load.ts';
import { upstreamLines, upstreamStates, upstreamUp } from '../support/upstreams/upstream-state.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

describe('the circuit breaker', () => {
  let kit: GatewayKit;
  let key: string;
  let pets: string;
  let outputBefore: number;

  beforeAll(async () => {
    kit = await startGatewayKit({ UPSTREAM_TIMEOUT_MS: '500' });
    ({ key } = await kit.issue({ plan: 'business', minute: 1_000_000, day: 10_000_000 }));
    pets = `${kit.gateway.url}/v1/pets`;
  });

  afterAll(() => kit[Symbol.asyncDispose]());

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

  test('spares an upstream that hangs, tells of it once, and lets requests through by itself when it is back', async () => {
    let probes = 0;
    kit.upstream.response = () => {};
    kit.upstream.readiness = () => {
      probes += 1;
    };
    const clients = 10;
    await using load = startLoad(clients, getPets, 5);
    await expect.poll(state).toBe('down');
    // What was on its way has arrived when so many more were refused.
    await expect.poll(() => tally(load.outcomes)['503'] ?? 0).toBeGreaterThan(50);
    const seen = kit.upstream.seen.length;
    // All that were on their way, once more for each that had its answer before the breaker opened.
    expect(seen).toBeLessThanOrEqual(2 * clients);
    const before = load.outcomes.length;
    const probesBefore = probes;
    await expect.poll(() => load.outcomes.length - before).toBeGreaterThan(200);
    await expect.poll(() => probes - probesBefore).toBeGreaterThanOrEqual(1);
    const outcomes = await load.stop();
    expect(kit.upstream.seen.length).toBe(seen);
    expect(tally(outcomes)).toEqual({ 503: outcomes.length - seen, 504: seen });

    const refused = await send(pets, { key });
    expect(refused.json).toMatchObject({ code: 'upstream_unavailable', status: 503 });
    expect(refused.header('Retry-After')).toBe('1');
    expect(refused.header('X-RateLimit-Limit')).toBe('1000000');
    expect(await upstreamUp(kit.gateway, kit.upstream.url)).toBe(0);

    kit.upstream.response = respondWithPets;
    kit.upstream.readiness = (res) => res.end();
    // No request is risked to find out.
    await expect.poll(state).toBe('ready');
    expect(kit.upstream.seen.length).toBe(seen);
    expect(await upstreamUp(kit.gateway, kit.upstream.url)).toBe(1);
    expect(await Promise.all(Array.from({ length: 50 }, getPets))).toEqual(Array(50).fill(200));
    expect(upstreamLines(output())).toEqual(['upstream is down and ejected', 'upstream is ready again']);
    // What was refused at once is in the access log alone.
    const told = output().match(/"level":40[^\n]*"code":"upstream_\w+"/g) ?? [];
    expect(told.length).toBe(seen);
  });

  test('leaves an upstream that fails requests, but is ready, in peace for longer each time', async () => {
    kit.upstream.response = (req) => req.socket.end('garbage\r\n\r\n');
    await using load = startLoad(1, getPets, 2);
    // Five, one when it is back at once, one a second later; the next would be two seconds after that.
    await expect.poll(() => kit.upstream.seen.length).toBe(7);
    await expect.poll(state).toBe('down');
    const outcomes = await load.stop();
    expect(tally(outcomes)).toEqual({ 502: 7, 503: outcomes.length - 7 });
    expect(outcomes.length).toBeGreaterThan(20);
    kit.upstream.response = respondWithPets;
    await expect.poll(getPets, { timeout: 20_000 }).toBe(200);
    expect(upstreamLines(output()).filter((line) => line.includes('ejected'))).toHaveLength(3);
    // An answer makes up for all of it.
    const seen = kit.upstream.seen.length;
    kit.upstream.response = (req) => req.socket.end('garbage\r\n\r\n');
    for (let index = 0; index < 4; index += 1) expect(await getPets()).toBe(502);
    expect(kit.upstream.seen.length - seen).toBe(4);
    expect(await state()).toBe('ready');
  });

  test('does not open over errors that the upstream itself answers with', async () => {
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

  test('does not open over clients that go away, or send too much or too little', async () => {
    kit.upstream.response = () => {};
    for (let index = 0; index < 10; index += 1) {
      const before = kit.upstream.seen.length;
      const socket = connect(kit.gateway.port, '127.0.0.1');
      socket.write(`GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
      await expect.poll(() => kit.upstream.seen.length - before).toBe(1);
      socket.destroy();
    }
    const megabytes = Buffer.alloc(2_000_000, ' ');
    for (let index = 0; index < 10; index += 1) {
      const body = Readable.from([megabytes.subarray(0, 1_000_000), megabytes.subarray(1_000_000)]);
      expect((await send(pets, { method: 'POST', key, body })).status).toBe(413);
      const half = connect(kit.gateway.port, '127.0.0.1');
      half.write(`POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`);
      half.end('Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{');
    }
    kit.upstream.response = respondWithPets;
    expect(await getPets()).toBe(200);
    expect(upstreamLines(output())).toEqual([]);
  });

  test('takes a server without /readyz for one that is there', async () => {
    kit.upstream.readiness = (res) => res.writeHead(404, { 'content-type': 'text/html' }).end('<h1>No</h1>');
    await sleep(1500);
    expect(await state()).toBe('ready');
    expect(await getPets()).toBe(200);
  });

  test('still asks the only upstream there is while it says that it drains', async () => {
    kit.upstream.readiness = (res) => res.writeHead(503).end();
    await expect.poll(state).toBe('not_ready');
    expect(await upstreamUp(kit.gateway, kit.upstream.url)).toBe(0);
    expect(await getPets()).toBe(200);
    expect((await postJson(pets, key, {})).status).toBe(200);
  });

  test('does not take an upstream that answers requests for dead because its probes hang', async () => {
    kit.upstream.readiness = () => {};
    await using load = startLoad(1, getPets, 20);
    await sleep(4000);
    const outcomes = await load.stop();
    expect(tally(outcomes)).toEqual({ 200: outcomes.length });
    expect(outcomes.length).toBeGreaterThan(20);
  });
});
