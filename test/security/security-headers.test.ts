import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { send, sendRaw } from '../support/http/http.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';
import { startPetsService, type Service } from '../support/kits/service.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../support/kits/temporary-directory.ts';

type Headers = Record<string, string | string[] | undefined>;

const expected = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
};

/** A header that is sent twice would be a list here. */
const ofSecurity = (headers: Headers) =>
  Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) =>
        name in expected || name === 'strict-transport-security' || name.startsWith('access-control-'),
    ),
  );

const rawHeaders = (raw: string): Headers => {
  const headers: Headers = {};
  for (const line of raw.split('\r\n\r\n')[0]?.split('\r\n').slice(1) ?? []) {
    const name = line.slice(0, line.indexOf(':')).toLowerCase();
    const value = line.slice(line.indexOf(':') + 2);
    headers[name] = headers[name] === undefined ? value : [headers[name], value].flat();
  }
  return headers;
};

describe('security headers of the gateway', () => {
  let kit: GatewayKit;
  let key: string;

  beforeAll(async () => {
    kit = await startGatewayKit();
    ({ key } = await kit.issue({ plan: 'business' }));
  });

  afterAll(async () => {
    await kit[Symbol.asyncDispose]();
  });

  const pets = () => `${kit.gateway.url}/v1/pets`;

  test.each([
    ['200', 200, () => send(pets(), { key })],
    ['usage', 200, () => send(`${kit.gateway.url}/v1/usage`, { key })],
    ['OPTIONS', 204, () => send(pets(), { method: 'OPTIONS' })],
    ['HEAD', 200, () => send(pets(), { method: 'HEAD', key })],
    ['401', 401, () => send(pets())],
    ['404 of the gateway', 404, () => send(`${kit.gateway.url}/nothing`)],
    ['405', 405, () => send(pets(), { method: 'PUT', key })],
  ])('an answer to %s has each once', async (_name, status, ask) => {
    const response = await ask();
    expect(response.status).toBe(status);
    expect(ofSecurity(response.headers)).toEqual(expected);
  });

  test('429 and a ban have them too', async () => {
    const { key: limited, keyHash } = await kit.issue({ minute: 1 });
    await send(pets(), { key: limited });
    const refused = await send(pets(), { key: limited });
    expect(refused.json).toMatchObject({ code: 'rate_limit_exceeded' });
    expect(ofSecurity(refused.headers)).toEqual(expected);
    await kit.redis.set(`gw:ban:{${keyHash}}`, 'by-hand', 'EX', 60);
    const banned = await send(pets(), { key: limited });
    expect(banned.json).toMatchObject({ code: 'api_key_banned' });
    expect(ofSecurity(banned.headers)).toEqual(expected);
  });

  test.each([
    ['no HTTP at all', 'NONSENSE\r\n\r\n', 400],
    ['headers too large', `GET /v1/pets HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
    ['CONNECT', 'CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n', 405],
  ])('the answer to %s has them', async (_name, bytes, status) => {
    const raw = await sendRaw(kit.gateway.port, bytes);
    expect(raw).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(ofSecurity(rawHeaders(raw))).toEqual(expected);
  });

  test("those of the upstream are replaced, and so is what it says of other sites' browsers", async () => {
    const standard = kit.upstream.response;
    kit.upstream.response = (_req, res) => {
      res
        .writeHead(200, {
          'Content-Type': 'application/json',
          'Cache-Control': 'public, max-age=31536000',
          'Content-Security-Policy': "default-src 'self'",
          'X-Content-Type-Options': 'none',
          'Strict-Transport-Security': 'max-age=0',
          'Access-Control-Allow-Origin': '*',
          'Access-Control-Allow-Credentials': 'true',
        })
        .end('[]');
    };
    const response = await send(pets(), { key });
    kit.upstream.response = standard;
    expect(response.status).toBe(200);
    expect(ofSecurity(response.headers)).toEqual(expected);
  });

  test('an upstream that breaks off makes an error that has them', async () => {
    const standard = kit.upstream.response;
    kit.upstream.response = (req) => req.socket.destroy();
    const response = await send(pets(), { key });
    kit.upstream.response = standard;
    expect(response.status).toBe(502);
    expect(ofSecurity(response.headers)).toEqual(expected);
  });

  test('a page of another site in a browser is told nothing: no CORS headers on a preflight, nor on the answer', async () => {
    const origin = { origin: 'https://shop.example' };
    const preflight = await send(pets(), {
      method: 'OPTIONS',
      headers: {
        ...origin,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'authorization',
      },
    });
    expect(preflight.status).toBe(204);
    expect(ofSecurity(preflight.headers)).toEqual(expected);
    expect(ofSecurity((await send(pets(), { key, headers: origin })).headers)).toEqual(expected);
  });

  test('the OpenAPI document may be kept for five minutes', async () => {
    const response = await send(`${kit.gateway.url}/openapi.json`);
    expect(ofSecurity(response.headers)).toEqual({ ...expected, 'cache-control': 'public, max-age=300' });
    // Not what is none of it: the same path, refused.
    const refused = await send(`${kit.gateway.url}/openapi.json`, { method: 'POST' });
    expect(ofSecurity(refused.headers)).toEqual(expected);
  });

  test('a client that says itself that it came by https is not believed', async () => {
    const response = await send(pets(), { key, headers: { 'x-forwarded-proto': 'https' } });
    expect(ofSecurity(response.headers)).toEqual(expected);
  });
});

describe('Strict-Transport-Security behind a trusted proxy', () => {
  let kit: GatewayKit;

  beforeAll(async () => {
    kit = await startGatewayKit({ TRUST_PROXY: 'loopback' });
  });

  afterAll(async () => {
    await kit[Symbol.asyncDispose]();
  });

  const over = async (protocol: string, path: string) =>
    (await send(kit.gateway.url + path, { headers: { 'x-forwarded-proto': protocol } })).header(
      'Strict-Transport-Security',
    );

  test.each(['/v1/pets', '/openapi.json', '/nothing'])('%s over https has it', async (path) => {
    expect(await over('https', path)).toBe('max-age=31536000');
  });

  test('over http it has not', async () => {
    expect(await over('http', '/v1/pets')).toBeUndefined();
  });
});

describe('security headers of the pets service', () => {
  let directory: TemporaryDirectory;
  let petsService: Service;

  beforeAll(async () => {
    directory = await temporaryDirectory();
    petsService = await startPetsService({ DATA_DIR: directory.path });
  });

  afterAll(async () => {
    await petsService[Symbol.asyncDispose]();
    await directory[Symbol.asyncDispose]();
  });

  const { 'cache-control': kept, 'x-content-type-options': sniffed } = expected;

  test.each(['/v1/pets', '/livez', '/nothing'])('%s may not be kept', async (path) => {
    const response = await send(petsService.url + path);
    expect(ofSecurity(response.headers)).toEqual({
      'cache-control': kept,
      'x-content-type-options': sniffed,
    });
  });

  test('what is no HTTP neither', async () => {
    const raw = await sendRaw(petsService.port, 'NONSENSE\r\n\r\n');
    expect(raw).toMatch(/^HTTP\/1\.1 400 /);
    expect(ofSecurity(rawHeaders(raw))).toEqual({ 'cache-control': kept, 'x-content-type-options': sniffed });
  });
});
