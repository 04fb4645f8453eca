import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseRaw, send, sendRaw } from '../support/http/http.ts';
import { createSockets } from '../support/http/open-socket.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { shared } from '../support/kits/shared.ts';

const { open, closeAll } = createSockets();
afterAll(closeAll);

describe('HTTP protocol errors and edge cases', () => {
  let key: string;

  const kit = shared(() => startGatewayKit({ REQUEST_TIMEOUT_MS: '1500', UPSTREAM_TIMEOUT_MS: '3000' }));
  beforeAll(async () => {
    ({ key } = await kit.issue({ plan: 'business' }));
  });

  const raw = async (bytes: string | Buffer) => parseRaw(await sendRaw(kit.gateway.port, bytes));
  const anyMessage: unknown = expect.any(String);

  function expectError(response: ReturnType<typeof parseRaw>, status: number, code: string): void {
    expect(response.status).toBe(status);
    expect(response.json).toEqual({ code, message: anyMessage, status });
    expect(response.headers).toMatch(/^content-type: application\/json/im);
    for (const name of ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']) {
      expect(response.headers.match(new RegExp(`^${name}: \\d+$`, 'gim'))).toHaveLength(1);
    }
  }

  const start = 'GET /v1/pets HTTP/1.1\r\nHost: x\r\n';
  const authorized = () => `Authorization: Bearer ${key}\r\nConnection: close\r\n`;
  const post = (headers: string) =>
    `POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}`;

  test('CONNECT gets 405 with the allowed methods', async () => {
    const response = await raw('CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n');
    expectError(response, 405, 'method_not_allowed');
    expect(response.headers).toMatch(/^Allow: GET, HEAD, POST, OPTIONS$/m);
  });

  const tooLong = 'Content-Length: 1048577\r\nExpect: 100-continue\r\n\r\n';
  test.each<[what: string, limit: number, request: () => string, status: number, code: string]>([
    ['an oversized header', 60, () => `${start}A: ${'a'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
    ['headers that never end', 60, () => start, 408, 'request_timeout'],
    ['no Host', 1000, () => `GET /v1/pets HTTP/1.1\r\n${authorized()}\r\n`, 400, 'bad_request'],
    ['an unsupported Expect', 1000, () => `${start}Expect: magic\r\n${authorized()}\r\n`, 417, 'bad_request'],
    [
      'a late body',
      1000,
      () => `${post(authorized())}Content-Length: 10\r\n\r\n{"a"`,
      408,
      'request_timeout',
    ],
    [
      'an invalid chunk',
      1000,
      () => `${post(authorized())}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nxyz\r\n`,
      400,
      'bad_request',
    ],
    [
      'a length over the limit, before the body',
      1000,
      () => post(authorized()) + tooLong,
      413,
      'payload_too_large',
    ],
  ])(
    '%s is refused with the limit of the address or the key, %d',
    async (_what, limit, request, status, code) => {
      const response = await raw(request());
      expectError(response, status, code);
      expect(response.headers).toMatch(new RegExp(`^X-RateLimit-Limit: ${limit}$`, 'm'));
    },
  );

  test('a chunked body over the limit gets 413, which reaches a client that is still sending', async () => {
    const chunk = Buffer.alloc(64 * 1024, 'a');
    const { socket, received } = open(kit.gateway.port);
    const errors: unknown[] = [];
    socket.on('error', (error) => errors.push(error));
    socket.write(`${post(authorized())}Transfer-Encoding: chunked\r\n\r\n`);
    // 4 MiB, without waiting for the response.
    for (let sent = 0; sent < 64 && errors.length === 0; sent += 1) {
      socket.write(`${chunk.length.toString(16)}\r\n`);
      socket.write(chunk);
      socket.write('\r\n');
      await sleep(5);
    }
    socket.end('0\r\n\r\n');
    await expect.poll(received, { timeout: 3000 }).toContain('payload_too_large');
    expect(parseRaw(received()).status).toBe(413);
    expect(errors).toEqual([]);
  });

  test.each(['GET /v1/pets', 'HEAD /v1/usage', 'OPTIONS /v1/pets', 'GET /openapi.json'])(
    'the connection is closed after the response to %s if its body may have no end',
    async (line) => {
      const fields = `Host: x\r\nAuthorization: Bearer ${key}\r\nTransfer-Encoding: chunked`;
      const bytes = `${line} HTTP/1.1\r\n${fields}\r\n\r\n1\r\na\r\n`;
      expect(await sendRaw(kit.gateway.port, bytes)).toMatch(/^HTTP\/1\.1 20[^]*^Connection: close\r$/m);
    },
  );

  test('a body of exactly 1 MiB is forwarded', async () => {
    const body = 'a'.repeat(1024 * 1024);
    expect((await send(`${kit.gateway.url}/v1/pets`, { method: 'POST', key, body })).status).toBe(200);
    expect(kit.upstream.seen.at(-1)?.body).toHaveLength(body.length);
  });

  test('a client that waits for 100 Continue gets it once its key is accepted', async () => {
    const { socket, received } = open(kit.gateway.port);
    socket.write(`${post(authorized())}Content-Length: 2\r\nExpect: 100-continue\r\n\r\n`);
    await expect.poll(received).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    socket.write('{}');
    await expect.poll(received).toMatch(/HTTP\/1\.1 200 OK/);
  });

  test('a client without a key never gets 100 Continue', async () => {
    const response = await sendRaw(
      kit.gateway.port,
      `${post('')}Content-Length: 2\r\nExpect: 100-continue\r\n\r\n`,
    );
    expect(response).toMatch(/^HTTP\/1\.1 401 Unauthorized/);
  });

  test('Expect is ignored in HTTP/1.0', async () => {
    expect((await raw(`GET /v1/pets HTTP/1.0\r\nExpect: magic\r\n${authorized()}\r\n`)).status).toBe(200);
  });
});

describe('paths and methods', () => {
  let key: string;

  const kit = shared(startGatewayKit);
  beforeAll(async () => {
    ({ key } = await kit.issue({ plan: 'business' }));
  });

  test.each('/v1/nothing /v1 /v1/ /v1/pets/ /v1/PETS /v1/pets/1/2 /v1/pe%74s /v1/pets;a'.split(' '))(
    '%s gets 401 without a key, and 404 with one',
    async (path) => {
      expect((await send(kit.gateway.url + path)).json).toMatchObject({
        code: 'missing_api_key',
        status: 401,
      });
      const response = await send(kit.gateway.url + path, { key });
      expect(response).toMatchObject({ status: 404, json: { code: 'not_found' } });
      expect(response.header('X-RateLimit-Limit')).toBe('1000');
    },
  );

  test.each('/v1//pets /v1/pets/.. /v1/x/%2e%2e/pets /v1/pets/1%2F2 /v1/pets/%5c1 /v1/pets/%00'.split(' '))(
    '%s gets 401 without a key, and 400 with one: two servers could read it differently',
    async (path) => {
      const without = await sendRaw(
        kit.gateway.port,
        `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      );
      expect(parseRaw(without)).toMatchObject({ status: 401, json: { code: 'missing_api_key' } });
      const raw = await sendRaw(
        kit.gateway.port,
        `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`,
      );
      expect(parseRaw(raw)).toMatchObject({ status: 400, json: { code: 'bad_request' } });
      expect(raw).toMatch(/^X-RateLimit-Limit: 1000\r$/m);
    },
  );

  test.each('/docs/nothing /docs/nothing/ /pets /V1/pets /v1pets //v1/pets /metrics /livez'.split(' '))(
    '%s is outside the API: it gets 404 without a key, and no rate limit headers',
    async (path) => {
      const response = await send(kit.gateway.url + path);
      expect(response).toMatchObject({ status: 404, json: { code: 'not_found' } });
      expect(response.header('X-RateLimit-Limit')).toBeUndefined();
    },
  );

  test.each([
    ['PUT', '/v1/pets', 'GET, HEAD, POST, OPTIONS'],
    ['DELETE', '/v1/pets/1', 'GET, HEAD, OPTIONS'],
    ['POST', '/v1/pets/1', 'GET, HEAD, OPTIONS'],
    ['POST', '/v1/usage', 'GET, HEAD, OPTIONS'],
    ['TRACE', '/v1/pets', 'GET, HEAD, POST, OPTIONS'],
  ])('%s %s gets 401 without a key, and 405 with one', async (method, path, allow) => {
    expect((await send(kit.gateway.url + path, { method })).status).toBe(401);
    const response = await send(kit.gateway.url + path, { method, key });
    expect(response).toMatchObject({ status: 405, json: { code: 'method_not_allowed' } });
    expect(response.headers).toMatchObject({ allow: allow, 'x-ratelimit-limit': '1000' });
  });

  test('OPTIONS lists the methods, needs no key and consumes no quota', async () => {
    const remaining = [];
    for (let index = 0; index < 3; index += 1) {
      const response = await send(`${kit.gateway.url}/v1/pets`, { method: 'OPTIONS' });
      expect(response).toMatchObject({ status: 204, headers: { allow: 'GET, HEAD, POST, OPTIONS' } });
      expect(response.header('RateLimit-Policy')).toBe('"ip";q=60;w=60');
      remaining.push(response.header('X-RateLimit-Remaining'));
    }
    expect(new Set(remaining).size).toBe(1);
    const petResponse = await send(`${kit.gateway.url}/v1/pets/1`, { method: 'OPTIONS' });
    expect(petResponse.header('Allow')).toBe('GET, HEAD, OPTIONS');
  });

  test('HEAD gets the response to GET without its body, also for errors', async () => {
    const get = await send(`${kit.gateway.url}/v1/pets`, { key });
    const head = await send(`${kit.gateway.url}/v1/pets`, { method: 'HEAD', key });
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(head.header('Content-Length')).toBe(get.header('Content-Length'));
    const refused = await send(`${kit.gateway.url}/v1/pets`, { method: 'HEAD' });
    expect(refused).toMatchObject({ status: 401, text: '' });
    expect(refused.header('X-RateLimit-Limit')).toBe('60');
  });

  test('every response to a valid key consumes one request, except 429', async () => {
    const { key: limited } = await kit.issue({ minute: 4 });
    const remaining = [];
    for (const [method, path] of [
      ['GET', '/v1/pets'],
      ['PUT', '/v1/pets'],
      ['GET', '/v1/none'],
      ['HEAD', '/v1/pets'],
      ['GET', '/v1/pets'],
    ]) {
      const response = await send(`${kit.gateway.url}${path}`, { method: method ?? '', key: limited });
      remaining.push([response.status, response.header('X-RateLimit-Remaining')]);
    }
    expect(remaining).toEqual([
      [200, '3'],
      [405, '2'],
      [404, '1'],
      [200, '0'],
      [429, '0'],
    ]);
  });
});
