import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { ResponseHeaders, sendJson } from '../../gateway/platform/http/response.ts';
import { createTransport } from '../../gateway/upstream/exchange.ts';
import type { TransportOptions } from '../../gateway/upstream/transport.ts';
import { createUpstreams } from '../../gateway/upstream/upstreams.ts';
import { freePort } from '../support/http/free-port.ts';
import { postJson, send } from '../support/http/http.ts';
import { listening } from '../support/http/listening.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { startGateway } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { dayUsage } from '../support/stores/day-counter.ts';
import { respondWithPets, startUpstream, type Upstream } from '../support/upstreams/upstream.ts';

/** Waits for the next minute if this one is nearly over: without Redis, each minute of the clock has a share of its own. */
async function earlyInMinute(): Promise<void> {
  const leftMs = 60_000 - (Date.now() % 60_000);
  if (leftMs < 10_000) await sleep(leftMs + 100);
}

describe('a failure of the gateway', () => {
  const kit = shared(() => startGatewayKit({ UPSTREAM_TIMEOUT_MS: '1000' }));

  const pets = () => `${kit.gateway.url}/v1/pets`;

  test('costs nothing, and its headers show that', async () => {
    await earlyInMinute();
    const { key, customerId } = await kit.issue({ minute: 10 });
    const shown = async (response: Upstream['response']) => {
      kit.upstream.response = response;
      const { status, header } = await postJson(pets(), key, {});
      const minute = /"minute";r=(\d+)/.exec(header('RateLimit') ?? '')?.[1];
      return [status, minute, header('X-RateLimit-Remaining')];
    };
    expect(await shown(respondWithPets)).toEqual([200, '9', '9']);
    expect(await shown((req) => req.socket.destroy())).toEqual([502, '9', '9']);
    expect(await shown(() => {})).toEqual([504, '9', '9']);
    expect(await dayUsage(kit.redis, customerId)).toBe(1);
    expect(await shown(respondWithPets)).toEqual([200, '8', '8']);
    const usage = await send(`${kit.gateway.url}/v1/usage?days=1`, { key });
    expect(usage.json).toMatchObject({ minute: { used: 2 }, day: { used: 2 }, days: [{ served: 2 }] });
  });

  test('that the service responds with itself costs as any other response', async () => {
    const { key, customerId } = await kit.issue();
    kit.upstream.response = (_req, res) => {
      res.writeHead(503, { 'content-type': 'application/json' });
      res.end('{"code":"service_unavailable","message":"Later.","status":503}');
    };
    expect((await send(pets(), { key })).status).toBe(503);
    expect(await dayUsage(kit.redis, customerId)).toBe(1);
  });

  test('of a service that cannot be reached costs nothing', async () => {
    const { key, customerId } = await kit.issue();
    const unreachable = { PETS_SERVICE_URL: `http://127.0.0.1:${await freePort()}` };
    await using gateway = await startGateway({ ...kit.env, ...unreachable });
    for (let times = 0; times < 10; times += 1) {
      expect((await send(`${gateway.url}/v1/pets`, { key })).status).toBe(503);
    }
    expect(await dayUsage(kit.redis, customerId)).toBe(0);
  });

  test('stays charged where Redis did not decide', { tags: ['redis-server'] }, async () => {
    await earlyInMinute();
    const { key, customerId } = await kit.issue({ minute: 60 });
    kit.upstream.response = respondWithPets;
    await send(pets(), { key });
    kit.upstream.response = (req) => req.socket.destroy();
    kit.server.signal('SIGSTOP');
    const { status } = await postJson(pets(), key, {});
    kit.server.signal('SIGCONT');
    expect(status).toBe(502);
    await expect.poll(() => dayUsage(kit.redis, customerId)).toBe(2);
  });
});

/** Vitest fails a run in which an error reaches the process. */
describe('what throws while a response is passed on fails its request alone', () => {
  type Options = TransportOptions<IncomingMessage, ServerResponse>;

  const upstream = shared(startUpstream);

  /** A server that passes requests on. What is given applies to those whose path is not /v1/pets. */
  async function startServer(faulty: Partial<Options>): Promise<AsyncDisposable & { url: string }> {
    const upstreams = createUpstreams({
      urls: [upstream.url],
      connections: 2,
      readiness: '/readyz',
      log: pino({ level: 'silent' }),
      onState: () => {},
    });
    const sound: Options = {
      upstreams,
      timeoutMs: 1000,
      requestHeaders: () => [],
      requestBody: () => null,
      takeStream: () => () => {},
      responseHeaders: (_res, { 'content-length': length = '' }) =>
        new ResponseHeaders(length === '' ? [] : ['content-length', length]),
      onErrorCode: () => {},
      onSettled: () => {},
      checkResponse: () => {},
    };
    const transports = [createTransport(sound), createTransport({ ...sound, ...faulty })] as const;
    const server = createServer((req, res) => {
      transports[req.url === '/v1/pets' ? 0 : 1](req, res).catch(() => {
        if (res.headersSent) res.destroy();
        else sendJson(res, 502, new ResponseHeaders(), '{}');
      });
    });
    const started = await listening(server);
    return {
      url: started.url,
      async [Symbol.asyncDispose]() {
        started[Symbol.dispose]();
        await upstreams.close();
      },
    };
  }

  const fail = () => {
    throw new Error('thrown on purpose');
  };
  const refused = () => new ResponseHeaders(['X-Name', '日']);
  const large = 'a'.repeat(200_000);
  type Respond = Upstream['response'];
  const respond =
    (status: number, body = '', length = body.length): Respond =>
    (_req, res) =>
      void res.writeHead(status, { 'content-length': length }).end(body);
  const hangUp: Respond = ({ socket }) => void socket.destroy();

  test.each<[stage: string, faulty: Partial<Options>, response: Respond]>([
    ['the check of the head', { checkResponse: fail }, respond(200, '[]')],
    ['a header that Node refuses in a small response', { responseHeaders: refused }, respond(200, '[]')],
    ['the code of an error', { onErrorCode: fail }, respond(404, '{"code":"not_found"}')],
    ['the end of a large one', { onSettled: fail }, respond(200, large)],
    ['the end of a lost one', { onSettled: fail }, hangUp],
    ['the start of a span', { startAttempt: fail }, respond(200, '[]')],
  ])('%s', { timeout: 10_000 }, async (_stage, faulty, response) => {
    await using server = await startServer(faulty);
    const isSound = async () => (await send(`${server.url}/v1/pets`)).status === 200;
    upstream.response = (req, res, body) => {
      if (req.url === '/v1/pets') respondWithPets(req, res);
      else response(req, res, body);
    };
    const outcome = send(`${server.url}/faulty`).then(
      ({ status, text }) => [status, text.length],
      () => 'cut off',
    );
    expect(await isSound()).toBe(true);
    // What was sent before the throw may be complete.
    expect([[502, 2], [200, 2], [200, large.length], 'cut off']).toContainEqual(await outcome);
    expect(await isSound()).toBe(true);
  });
});
