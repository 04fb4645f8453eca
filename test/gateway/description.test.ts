import { describe, expect, test } from 'vitest';
import { send } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { shared } from '../support/kits/shared.ts';

describe('GET /openapi.json', () => {
  const kit = shared(() => startGatewayKit({ PUBLIC_URL: 'https://api.example.com' }));

  const url = () => `${kit.gateway.url}/openapi.json`;

  test.each([undefined, 'br, gzip', 'identity', 'br;q=0, gzip;q=0', 'identity;q=0'])(
    'Accept-Encoding: %s gets the text as it is',
    async (accepted) => {
      const response = await send(url(), {
        headers: accepted === undefined ? {} : { 'accept-encoding': accepted },
      });
      expect(response.status).toBe(200);
      expect(response.headers).toMatchObject({
        'content-length': String(Buffer.byteLength(response.text)),
        'content-type': 'application/json; charset=utf-8',
      });
      expect(response.header('Content-Encoding')).toBeUndefined();
      expect(response.header('X-RateLimit-Limit')).toBeUndefined();
      expect(response.json).toMatchObject({ openapi: '3.1.1' });
    },
  );

  test('a client that has it gets 304', async () => {
    const tag = (await send(url())).header('ETag') ?? '';
    expect(tag).toMatch(/^"[^"]{20,}"$/);
    for (const condition of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const response = await send(url(), { headers: { 'if-none-match': condition } });
      expect(response).toMatchObject({ status: 304, text: '' });
      expect(response.headers).toMatchObject({
        etag: tag,
        'cache-control': 'public, max-age=300',
        'access-control-allow-origin': '*',
      });
      expect(response.header('Content-Type')).toBeUndefined();
    }
  });

  test('a client that has another version gets 200', async () => {
    const tag = (await send(url())).header('ETag') ?? '';
    for (const condition of ['"other"', 'W/"other"', tag.replaceAll('"', '')]) {
      expect((await send(url(), { headers: { 'if-none-match': condition } })).status).toBe(200);
    }
  });

  test('HEAD gets the headers of GET', async () => {
    const get = await send(url());
    const head = await send(url(), { method: 'HEAD' });
    expect(head).toMatchObject({ status: 200, text: '' });
    for (const name of ['etag', 'content-length', 'content-type']) {
      expect(head.headers[name]).toBe(get.headers[name]);
    }
    const current = { 'if-none-match': String(get.headers['etag']) };
    expect((await send(url(), { method: 'HEAD', headers: current })).status).toBe(304);
  });
});
