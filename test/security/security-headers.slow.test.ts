import { beforeAll, describe, expect, test } from 'vitest';
import { send, sendRaw } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { startPetsService } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { anyDatabase } from '../support/stores/stores.ts';

type Headers = Record<string, string | string[] | undefined>;

const expected = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
};

/** A repeated header has a list as its value, and so differs from the expected one. */
const securityHeadersOf = (headers: Headers) =>
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
  let key: string;

  const kit = shared(startGatewayKit);
  beforeAll(async () => {
    ({ key } = await kit.issue({ plan: 'business' }));
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
  ])('are sent once: %s', async (_name, status, request) => {
    const response = await request();
    expect(response.status).toBe(status);
    expect(securityHeadersOf(response.headers)).toEqual(expected);
  });

  test.each([
    ['invalid HTTP', 'NONSENSE\r\n\r\n', 400],
    ['oversized headers', `GET /v1/pets HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
    ['CONNECT', 'CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n', 405],
  ])('are sent in response to %s', async (_name, bytes, status) => {
    const raw = await sendRaw(kit.gateway.port, bytes);
    expect(raw).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(securityHeadersOf(rawHeaders(raw))).toEqual(expected);
  });

  test('replace those of the upstream, and its CORS headers are removed', async () => {
    const defaultResponse = kit.upstream.response;
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
    kit.upstream.response = defaultResponse;
    expect(response.status).toBe(200);
    expect(securityHeadersOf(response.headers)).toEqual(expected);
  });

  test('allow caching of the OpenAPI document for five minutes, and reading it from any origin', async () => {
    const response = await send(`${kit.gateway.url}/openapi.json`);
    expect(securityHeadersOf(response.headers)).toEqual({
      ...expected,
      'cache-control': 'private, max-age=300',
      'access-control-allow-origin': '*',
    });
    // An error at the same path is not cached.
    const refused = await send(`${kit.gateway.url}/openapi.json`, { method: 'POST' });
    expect(securityHeadersOf(refused.headers)).toEqual(expected);
  });
});

describe('Strict-Transport-Security behind a trusted proxy', () => {
  const kit = shared(() => startGatewayKit({ TRUST_PROXY: 'loopback' }));

  const headerOver = async (protocol: string, path: string) =>
    (await send(kit.gateway.url + path, { headers: { 'x-forwarded-proto': protocol } })).header(
      'Strict-Transport-Security',
    );

  test.each(['/v1/pets', '/openapi.json', '/nothing'])('is sent for %s over https', async (path) => {
    expect(await headerOver('https', path)).toBe('max-age=31536000');
  });

  test('is not sent over http', async () => {
    expect(await headerOver('http', '/v1/pets')).toBeUndefined();
  });
});

describe('security headers of the pets service', () => {
  const directory = shared(temporaryDirectory);
  const petsService = shared(async () =>
    startPetsService({ DATA_DIR: directory.path, ...(await anyDatabase()) }),
  );

  const { 'cache-control': cacheControl, 'x-content-type-options': contentTypeOptions } = expected;

  test.each(['/v1/pets', '/livez', '/nothing'])('forbid caching of %s', async (path) => {
    const response = await send(petsService.url + path);
    expect(securityHeadersOf(response.headers)).toEqual({
      'cache-control': cacheControl,
      'x-content-type-options': contentTypeOptions,
    });
  });
});
