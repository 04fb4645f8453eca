import { gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';
import { startGateway } from '../support/kits/service.ts';

const page = JSON.stringify(
  Array.from({ length: 200 }, (_, id) => ({ id, name: `Rex ${id}`, status: 'sold' })),
);

describe('compression', () => {
  let kit: GatewayKit;
  let key: string;

  beforeAll(async () => {
    kit = await startGatewayKit();
    ({ key } = await kit.issue({ plan: 'enterprise', minute: 10_000, day: 10_000 }));
  });
  afterAll(() => kit[Symbol.asyncDispose]());

  async function get(headers: Record<string, string>, method: 'GET' | 'HEAD' = 'GET', url = kit.gateway.url) {
    const response = await request(`${url}/v1/pets`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...headers },
    });
    const body = Buffer.from(await response.body.arrayBuffer());
    return { status: response.statusCode, headers: response.headers, body };
  }
  function respond(text: string | Buffer, headers: Record<string, string> = {}) {
    kit.upstream.response = (_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json; charset=utf-8', ...headers }).end(text);
    };
  }

  test.each(['gzip', 'gzip, deflate, br', 'br;q=0.5, gzip', '*'])(
    'a large response is compressed for %s',
    async (accepted) => {
      respond(page, { vary: 'Accept-Language' });
      const condition = { 'if-none-match': '"none"' };
      const plain = await get(condition);
      const { headers, body } = await get({ 'accept-encoding': accepted, ...condition });
      expect(headers).toMatchObject({
        'content-encoding': 'gzip',
        'content-length': String(body.length),
        vary: 'Accept-Language, Accept-Encoding',
        // Weak, and so the same for each coding.
        etag: plain.headers['etag'],
      });
      expect(gunzipSync(body).toString()).toBe(page);
      expect(body.length).toBeLessThan(page.length / 3);
      const current = await get({ 'accept-encoding': accepted, 'if-none-match': String(headers['etag']) });
      expect(current).toMatchObject({ status: 304, headers: { vary: 'Accept-Language, Accept-Encoding' } });
    },
  );

  test.each([{}, { 'accept-encoding': 'identity' }, { 'accept-encoding': 'gzip;q=0, br' }])(
    'a client that accepts none gets it as it is: %j',
    async (accepted) => {
      respond(page);
      const { headers, body } = await get(accepted);
      expect(headers).not.toHaveProperty('content-encoding');
      expect(headers).toMatchObject({ vary: 'Accept-Encoding', 'content-length': String(page.length) });
      expect(body.toString()).toBe(page);
    },
  );

  test.each<[string, string | Buffer, Record<string, string>]>([
    ['is small', page.slice(0, 2000).replace(/,\{[^}]*$/, ']'), {}],
    ['is encoded by the service', Buffer.alloc(9000, 1), { 'content-encoding': 'zstd' }],
    ['has a strong entity tag', page, { etag: '"7"' }],
    ['must not be transformed', page, { 'cache-control': 'private, no-transform' }],
    ['is streamed', JSON.stringify('x'.repeat(200_000).split('')), {}],
  ])('a response that %s is sent as it is', async (_what, text, headers) => {
    respond(text, headers);
    const response = await get({ 'accept-encoding': 'gzip' });
    expect(response.status).toBe(200);
    expect(response.headers['content-encoding']).toBe(headers['content-encoding']);
    expect(response.headers).not.toHaveProperty('vary');
    expect(response.body.equals(Buffer.from(text))).toBe(true);
  });

  test('HEAD has the headers of the response as it is', async () => {
    respond(page);
    const { headers, body } = await get({ 'accept-encoding': 'gzip', 'if-none-match': '"other"' }, 'HEAD');
    expect(headers).toMatchObject({ vary: 'Accept-Encoding' });
    expect(headers).not.toHaveProperty('content-encoding');
    expect(body).toHaveLength(0);
  });

  test('many at once are all correct', async () => {
    respond(page);
    const responses = await Promise.all(
      Array.from({ length: 100 }, () => get({ 'accept-encoding': 'gzip' })),
    );
    for (const { headers, body } of responses) {
      const isEncoded = headers['content-encoding'] === 'gzip';
      expect((isEncoded ? gunzipSync(body) : body).toString()).toBe(page);
    }
    expect(responses.some(({ headers }) => headers['content-encoding'] === 'gzip')).toBe(true);
  });

  test('a setting switches it off', async () => {
    respond(page);
    await using plain = await startGateway({
      REDIS_URL: kit.server.url,
      PETS_SERVICE_URL: kit.upstream.url,
      COMPRESS_MIN_BYTES: '0',
    });
    const { headers } = await get({ 'accept-encoding': 'gzip' }, 'GET', plain.url);
    expect(headers).not.toHaveProperty('content-encoding');
    expect(headers).not.toHaveProperty('vary');
  });
});
