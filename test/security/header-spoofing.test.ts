import { beforeAll, describe, expect, test } from 'vitest';
import { parseRaw, send, sendRaw } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { shared } from '../support/kits/shared.ts';
import type { ReceivedRequest } from '../support/upstreams/upstream.ts';

let key: string;
let pets: string;

const kit = shared(() => startGatewayKit({ KEEP_ALIVE_TIMEOUT_MS: '100' }));
beforeAll(async () => {
  ({ key } = await kit.issue({ plan: 'business', minute: 1_000_000 }));
  pets = `${kit.gateway.url}/v1/pets`;
});

const raw = (lines: string[], method = 'GET', body = '') =>
  sendRaw(
    kit.gateway.port,
    Buffer.from(
      [`${method} /v1/pets HTTP/1.1`, 'Connection: close', ...lines, '', body].join('\r\n'),
      'latin1',
    ),
  );

/** The request that reaches the upstream when a client sends these headers with a valid key. */
async function forwarded(lines: string[], method = 'GET', body = ''): Promise<ReceivedRequest> {
  const before = kit.upstream.seen.length;
  const response = await raw(['Host: api.example', `Authorization: Bearer ${key}`, ...lines], method, body);
  expect(parseRaw(response).status).toBe(200);
  expect(kit.upstream.seen.length - before).toBe(1);
  const [seen] = kit.upstream.seen.slice(-1);
  if (seen === undefined) throw new Error('nothing reached the upstream');
  return seen;
}

const namesOf = ({ rawHeaders }: ReceivedRequest) =>
  rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());

const gatewayHeaders =
  'authorization connection host x-forwarded-for x-forwarded-host x-forwarded-proto x-request-id'.split(' ');

describe('forwarding headers of a client', () => {
  const forwardingHeaders = [
    ['Forwarded', 'for=10.0.0.1;host=evil.example;proto=https'],
    ['X-Forwarded-For', '10.0.0.1'],
    ['X-Forwarded-Host', 'evil.example'],
    ['X-Forwarded-Proto', 'https'],
    ['X-Forwarded-Port', '443'],
    ['X-Forwarded-Prefix', '/admin'],
    ['X-Forwarded-User', 'admin'],
    ['X-Real-IP', '10.0.0.1'],
  ];

  test.each(forwardingHeaders)('are replaced: %s', async (name, value) => {
    const seen = await forwarded([`${name}: ${value}`]);
    expect(namesOf(seen).toSorted()).toEqual(gatewayHeaders);
    expect(seen.headers).toMatchObject({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': 'api.example',
      'x-forwarded-proto': 'http',
    });
  });

  test('are replaced if they have underscores, another case or are repeated', async () => {
    const lines = forwardingHeaders.flatMap(([name = '', value = '']) => {
      const withUnderscores = name.replaceAll('-', '_');
      return [withUnderscores, withUnderscores.toUpperCase(), name.toLowerCase()].map(
        (each) => `${each}: ${value}`,
      );
    });
    expect(namesOf(await forwarded(lines)).toSorted()).toEqual(gatewayHeaders);
  });

  test('do not change the address that is limited', async () => {
    const remaining = [];
    for (const address of ['192.0.2.1', '192.0.2.2']) {
      const response = await send(pets, { headers: { 'x-forwarded-for': address, 'x-real-ip': address } });
      remaining.push(Number(response.header('X-RateLimit-Remaining')));
    }
    expect(remaining[1]).toBe((remaining[0] ?? 0) - 1);
  });
});

describe('headers that the gateway sets', () => {
  test('are not mixed with similar headers of the client', async () => {
    const seen = await forwarded([
      'X-Request-Id: mine',
      'x_request_id: yours',
      'Proxy-Authorization: Bearer eyJhbGciOiJub25lIn0.e30.',
      'Content_Length: 400',
      'Transfer_Encoding: chunked',
      'HTTP2-Settings: x',
    ]);
    expect(namesOf(seen).toSorted()).toEqual(gatewayHeaders);
    expect(seen.headers['x-request-id']).toBe('mine');
    expect(seen.headers.authorization).toMatch(/^Bearer eyJhbGciOiJFUzI1NiI/);
  });
});

describe('a credential', () => {
  /** Also expects that nothing reaches the upstream. */
  async function expectRefusal(lines: string[], code: string): Promise<void> {
    const before = kit.upstream.seen.length;
    const response = parseRaw(await raw(['Host: x', ...lines]));
    const message: unknown = expect.any(String);
    expect(response.json).toEqual({ code, message, status: 401 });
    expect(kit.upstream.seen.length).toBe(before);
  }
  const valid = () => `Authorization: Bearer ${key}`;

  test.each<[string, () => string[]]>([
    ['sent twice', () => [valid(), valid()]],
    ['after another one', () => ['Authorization: Bearer x', valid()]],
    ['before another one', () => [valid(), 'authorization: Basic eDp5']],
    ['before an empty one', () => [valid(), 'AUTHORIZATION:']],
    ['with another one after a comma', () => [`${valid()}, Bearer x`]],
    ['in quotes', () => [`Authorization: Bearer "${key}"`]],
    ['after a tab', () => [`Authorization: Bearer\t${key}`]],
    ['after a no-break space', () => [`Authorization: Bearer\xa0${key}`]],
    ['with a non-ASCII byte at its end', () => [`${valid()}\xff`]],
    ['with a letter that looks similar', () => [`Authorization: Bearer ${key.replace('pets', 'p\xe9ts')}`]],
    ['of another scheme', () => [`Authorization: Basic ${Buffer.from(`${key}:`).toString('base64')}`]],
    ['of 15 kB', () => [`Authorization: Bearer ${'a'.repeat(15_000)}`]],
    ['of a key and 15 kB after it', () => [`${valid()}${'a'.repeat(15_000)}`]],
    ['that is an internal token', () => ['Authorization: Bearer eyJhbGciOiJub25lIn0.e30.']],
  ])('%s gets malformed_api_key', async (_name, lines) => {
    await expectRefusal(lines(), 'malformed_api_key');
  });

  test.each<[string, () => string[]]>([
    ['in another header', () => [`X-Api-Key: ${key}`, `Proxy-Authorization: Bearer ${key}`]],
    ['in a cookie', () => [`Cookie: Authorization=Bearer ${key}`]],
    [
      'in a header with a similar name',
      () => [`_Authorization: Bearer ${key}`, `X-Authorization: Bearer ${key}`],
    ],
  ])('%s gets missing_api_key', async (_name, lines) => {
    await expectRefusal(lines(), 'missing_api_key');
  });

  test('in a method, a target or another header is not logged', async () => {
    await sendRaw(
      kit.gateway.port,
      `GET /v1/${key}?key=${key} HTTP/1.1\r\nHost: ${key}\r\nX-Request-Id: ${key}\r\nReferer: ${key}\r\nConnection: close\r\n\r\n`,
    );
    await sendRaw(kit.gateway.port, `${key} /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n`);
    await expect.poll(() => kit.gateway.output()).toContain('"msg":"malformed request"');
    expect(kit.gateway.output()).not.toContain(key);
  });
});

test('an invalid request id is replaced, and cannot break the log format', async () => {
  for (const id of ['a"b', 'a b', '{"level":60}', '\u0085x', 'x'.repeat(129), 'a%0d%0ab']) {
    const response = parseRaw(await raw(['Host: x', `X-Request-Id: ${id}`]));
    expect(response.headers).toMatch(/^X-Request-Id: [0-9a-f-]{36}$/m);
  }
  const lines = kit.gateway.output().split('\n').filter(Boolean);
  expect(lines.filter((line) => !line.startsWith('{"level":'))).toEqual([]);
  for (const line of lines) expect(() => JSON.parse(line) as unknown).not.toThrow();
});
