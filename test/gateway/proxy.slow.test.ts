import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { maxCollectedBytes } from '../../gateway/upstream/exchange.ts';
import { postJson, send, sendRaw, type ClientResponse } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { startGateway } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

const json = { 'content-type': 'application/json; charset=utf-8' };

describe('proxying', () => {
  let key: string;
  let pets: string;

  const kit = shared(() => startGatewayKit({ UPSTREAM_TIMEOUT_MS: '500' }));
  beforeAll(async () => {
    ({ key } = await kit.issue({ plan: 'business', minute: 1_000_000 }));
    pets = `${kit.gateway.url}/v1/pets`;
  });

  afterEach(async () => {
    kit.upstream.response = respondWithPets;
    // Failures in consecutive tests would eject the upstream.
    await send(pets, { key });
  });

  function expectError(response: ClientResponse, status: number, code: string): void {
    expect(response.status).toBe(status);
    const message: unknown = expect.any(String);
    expect(response.json).toEqual({ code, message, status });
    expect(response.header('X-RateLimit-Limit')).toBe('100000');
  }

  describe('the request to the upstream', () => {
    test('has the exact body of a POST, and not the body of a GET', async () => {
      const body = '{"name":"Żółw \\u0000","n":1.0}';
      await postJson(pets, key, body);
      expect(kit.upstream.seen.at(-1)).toMatchObject({ method: 'POST', body });
      await sendRaw(
        kit.gateway.port,
        `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello`,
      );
      const getRequest = kit.upstream.seen.at(-1);
      expect(getRequest).toMatchObject({ method: 'GET', body: '' });
      expect(getRequest?.headers).not.toHaveProperty('content-length');
    });
  });

  describe('the response to the client', () => {
    test("has the upstream's headers, but none of the gateway's, of a connection, or that command a browser or a proxy", async () => {
      kit.upstream.response = (_req, res) => {
        res.writeHead(200, {
          ...json,
          // unit/gateway/upstream/headers.test.ts has all.
          'X-RateLimit-Limit': '1',
          RateLimit: 'x',
          Server: 'secrets',
          'X-Request-Id': 'other',
          'Set-Cookie': ['a=1', 'b=2'],
          'X-Accel-Redirect': '/internal',
          Connection: 'Vary',
          Vary: 'accept',
          ETag: '"1"',
          'X-Order': '7',
        });
        res.end('[]');
      };
      const response = await send(pets, { key });
      expect(response.header('X-RateLimit-Limit')).toBe('100000');
      expect(response.header('RateLimit')).toMatch(/^"minute";r=\d+;t=\d+, "day";r=\d+;t=\d+$/);
      expect(response.header('X-Request-Id')).not.toBe('other');
      expect(response.header('ETag')).toBe('"1"');
      const gatewayHeaders =
        /^(cache-control|connection|content-security-policy|date|keep-alive|x-content-type-options|x-request-id|(x-)?ratelimit.*)$/;
      expect(
        Object.keys(response.headers)
          .filter((name) => !gatewayHeaders.test(name))
          .toSorted(),
      ).toEqual(['content-type', 'etag', 'transfer-encoding', 'x-order']);
    });

    test('is 502 if the upstream refuses the internal token, because 401 would blame the API key', async () => {
      kit.upstream.response = (_req, res) => {
        res.writeHead(401, { ...json, 'WWW-Authenticate': 'Bearer' }).end('{}');
      };
      const response = await send(pets, { key });
      expectError(response, 502, 'upstream_error');
      expect(response.header('WWW-Authenticate')).toBeUndefined();
    });

    test('passes whatever its status and its content are', async () => {
      kit.upstream.response = (_req, res) => {
        const headers = { 'content-type': 'text/html', 'content-length': 13, 'retry-after': '7' };
        res.writeHead(503, headers).end('<h1>Oops</h1>');
      };
      expect(await send(pets, { key })).toMatchObject({
        status: 503,
        text: '<h1>Oops</h1>',
        headers: { 'content-type': 'text/html', 'retry-after': '7' },
      });
      kit.upstream.response = (_req, res) => res.writeHead(302, { location: 'https://example.org/' }).end();
      const redirect = await send(pets, { key });
      expect([redirect.status, redirect.header('Location')]).toEqual([302, 'https://example.org/']);
    });
  });

  describe('when the upstream fails', () => {
    test('a connection that closes without a response is 502: a GET is tried twice, a POST once', async () => {
      kit.upstream.response = (req) => req.socket.destroy();
      const before = kit.upstream.seen.length;
      const getResponse = await send(pets, { key });
      expectError(getResponse, 502, 'upstream_error');
      expect(getResponse.header('Retry-After')).toBe('1');
      expect(kit.upstream.seen.length - before).toBe(2);
      const postResponse = await postJson(pets, key, {});
      expectError(postResponse, 502, 'upstream_error');
      // The upstream may have executed it, so a retry might create it twice.
      expect(postResponse.header('Retry-After')).toBeUndefined();
      expect(postResponse.text).toContain('give each request an Idempotency-Key');
      expect(kit.upstream.seen.length - before).toBe(3);
    });
  });

  test('requests over the limit of upstream connections wait for one until a timeout', async () => {
    const gateway = await startGateway({
      ...kit.env,
      UPSTREAM_CONNECTIONS: '2',
      UPSTREAM_TIMEOUT_MS: '1000',
    });
    const before = kit.upstream.seen.length;
    const endResponses: (() => void)[] = [];
    // Responses that keep sending do not time out.
    kit.upstream.response = (_req, res) => {
      res.writeHead(200, json);
      const timer = setInterval(() => res.write('a'.repeat(2 * maxCollectedBytes)), 100);
      endResponses.push(() => {
        clearInterval(timer);
        res.end();
      });
    };
    const { key: other } = await kit.issue({ plan: 'business' });
    const streaming = [key, other].map((owner) => send(`${gateway.url}/v1/pets`, { key: owner }));
    await expect.poll(() => endResponses.length).toBe(2);
    const third = send(`${gateway.url}/v1/pets`, { key });
    const fourth = await send(`${gateway.url}/v1/pets`, { key });
    expectError(fourth, 503, 'upstream_unavailable');
    expect(kit.upstream.seen.length - before).toBe(2);
    for (const end of endResponses) end();
    kit.upstream.response = respondWithPets;
    await Promise.allSettled([...streaming, third]);
    expect((await send(`${gateway.url}/v1/pets`, { key })).status).toBe(200);
    await gateway[Symbol.asyncDispose]();
  });
});
