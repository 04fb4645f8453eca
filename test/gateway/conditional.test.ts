import { describe, expect, test } from 'vitest';
import { postJson, send } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { dayUsage } from '../support/stores/day-counter.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

describe('conditional requests', () => {
  const kit = shared(startGatewayKit);

  const pets = () => `${kit.gateway.url}/v1/pets`;

  test.each(['GET', 'HEAD'])(
    'conditions and tags of a %s pass in both directions, and a 304 costs like any other response',
    async (method) => {
      const { key, customerId } = await kit.issue({ minute: 60 });
      kit.upstream.response = (req, res) => {
        const headers = { etag: 'W/"7"', vary: 'accept', deprecation: '@1764892800' };
        if (req.headers['if-none-match'] === undefined)
          res.writeHead(200, { ...headers, 'content-type': 'application/json', 'content-length': '2' });
        else res.writeHead(304, { ...headers, 'content-length': '2' });
        res.end(req.method === 'GET' && req.headers['if-none-match'] === undefined ? '[]' : '');
      };
      expect(await send(pets(), { key, method })).toMatchObject({ status: 200, headers: { etag: 'W/"7"' } });
      for (const condition of ['W/"7"', '"a", W/"7"', '*']) {
        const current = await send(pets(), { key, method, headers: { 'if-none-match': condition } });
        expect(current).toMatchObject({ status: 304, text: '' });
        expect(current.headers).toMatchObject({
          etag: 'W/"7"',
          vary: 'accept',
          deprecation: '@1764892800',
          'cache-control': 'no-store',
        });
        expect(current.headers).not.toHaveProperty('content-type');
        const { method: sent, headers } = kit.upstream.seen.at(-1) ?? {};
        expect([sent, headers?.['if-none-match']]).toEqual([method, condition]);
      }
      expect(await dayUsage(kit.redis, customerId)).toBe(4);
    },
  );

  test('If-Match reaches the service as it was sent, and no tag is invented', async () => {
    const { key } = await kit.issue();
    kit.upstream.response = (_req, res) => {
      res.writeHead(201, { 'content-type': 'application/json' }).end('{"id":1}');
    };
    const created = await postJson(pets(), key, {}, { 'if-match': '"1", "2"' });
    expect(created.status).toBe(201);
    expect(created.headers).not.toHaveProperty('etag');
    expect(kit.upstream.seen.at(-1)?.headers['if-match']).toBe('"1", "2"');
    kit.upstream.response = respondWithPets;
    const condition = { 'if-none-match': '*', 'accept-encoding': 'gzip, br' };
    const { status, headers } = await send(pets(), { key, headers: condition });
    expect(status).toBe(200);
    expect(headers).not.toHaveProperty('etag');
    expect(headers).not.toHaveProperty('content-encoding');
  });

  test.each([{ 'if-none-match': '"1"' }, { 'if-modified-since': 'Sat, 28 Nov 2026 12:00:00 GMT' }])(
    'a 304 to a GET with %j passes',
    async (headers) => {
      const { key } = await kit.issue();
      kit.upstream.response = (_req, res) => void res.writeHead(304).end();
      expect((await send(pets(), { key, headers })).status).toBe(304);
    },
  );

  test.each([
    ['no length', [], undefined],
    ['a length', ['Content-Length: 2'], '2'],
    ['chunks', ['Transfer-Encoding: chunked'], undefined],
  ])('the response to a HEAD has the length that the service gives: %s', async (_name, lines, length) => {
    const { key } = await kit.issue();
    kit.upstream.response = ({ socket }) => {
      socket.end(['HTTP/1.1 200 OK', 'Content-Type: text/plain', ...lines, '', ''].join('\r\n'));
    };
    const { status, header } = await send(pets(), { key, method: 'HEAD' });
    expect([status, header('Content-Length')]).toEqual([200, length]);
  });
});
