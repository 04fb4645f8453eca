import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { send } from '../support/http/http.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';

describe('GET /openapi.json', () => {
  let kit: GatewayKit;
  const agent = new Agent();

  beforeAll(async () => {
    kit = await startGatewayKit({ PUBLIC_URL: 'https://api.example.com' });
  });

  afterAll(async () => {
    await agent.close();
    await kit[Symbol.asyncDispose]();
  });

  const url = () => `${kit.gateway.url}/openapi.json`;

  async function fetchBytes(headers: Record<string, string>) {
    const response = await request(url(), { dispatcher: agent, headers });
    return { headers: response.headers, bytes: Buffer.from(await response.body.arrayBuffer()) };
  }

  test.each([
    ['br', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['gzip, deflate, br, zstd', 'gzip', gunzipSync],
    ['br;q=1, gzip;q=0.5', 'br', brotliDecompressSync],
    ['gzip;q=0, br', 'br', brotliDecompressSync],
  ])('Accept-Encoding: %s gets %s', async (accepted, encoding, decompress) => {
    const plain = await fetchBytes({});
    const { headers, bytes } = await fetchBytes({ 'accept-encoding': accepted });
    expect(headers).toMatchObject({
      'content-encoding': encoding,
      'content-length': String(bytes.length),
      'content-type': 'application/json; charset=utf-8',
      vary: 'Accept-Encoding',
    });
    expect(bytes.length).toBeLessThan(plain.bytes.length / 3);
    expect(decompress(bytes).equals(plain.bytes)).toBe(true);
  });

  test.each([undefined, 'identity', 'zstd', 'br;q=0, gzip;q=0', 'identity;q=0'])(
    'Accept-Encoding: %s gets the text as it is',
    async (accepted) => {
      const response = await send(url(), {
        headers: accepted === undefined ? {} : { 'accept-encoding': accepted },
      });
      expect(response.status).toBe(200);
      expect(response.header('Content-Encoding')).toBeUndefined();
      expect(response.header('Vary')).toBe('Accept-Encoding');
      expect(response.json).toMatchObject({ openapi: '3.1.1' });
    },
  );

  test.each(['br', 'gzip', 'identity'])('a client that has the %s version gets 304', async (encoding) => {
    const { headers } = await fetchBytes({ 'accept-encoding': encoding });
    const tag = String(headers['etag']);
    expect(tag).toMatch(/^"[\w-]{22}"$/);
    for (const condition of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const response = await send(url(), {
        headers: { 'accept-encoding': encoding, 'if-none-match': condition },
      });
      expect(response).toMatchObject({ status: 304, text: '' });
      expect(response.headers).toMatchObject({
        etag: tag,
        vary: 'Accept-Encoding',
        'cache-control': 'public, max-age=300',
        'access-control-allow-origin': '*',
      });
      expect(response.header('Content-Encoding')).toBeUndefined();
      expect(response.header('Content-Type')).toBeUndefined();
    }
  });

  test('a client that has another version gets 200', async () => {
    const tags = new Set<string>();
    for (const encoding of ['br', 'gzip', 'identity']) {
      tags.add(String((await fetchBytes({ 'accept-encoding': encoding })).headers['etag']));
    }
    expect(tags.size).toBe(3);
    const [otherCoding = ''] = tags;
    for (const condition of ['"other"', 'W/"other"', otherCoding, otherCoding.replaceAll('"', '')]) {
      expect((await send(url(), { headers: { 'if-none-match': condition } })).status).toBe(200);
    }
  });

  test('HEAD gets the headers of GET', async () => {
    const headers = { 'accept-encoding': 'gzip' };
    const get = await fetchBytes(headers);
    const head = await send(url(), { method: 'HEAD', headers });
    expect(head).toMatchObject({ status: 200, text: '' });
    for (const name of ['etag', 'content-length', 'content-encoding', 'content-type', 'vary']) {
      expect(head.headers[name]).toBe(get.headers[name]);
    }
    const current = { ...headers, 'if-none-match': String(get.headers['etag']) };
    expect((await send(url(), { method: 'HEAD', headers: current })).status).toBe(304);
  });
});
