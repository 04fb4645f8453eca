import { describe, expect, test } from 'vitest';
import { send, sendRaw } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { startGateway } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

const shop = 'https://shop.example';
const preflight = {
  'access-control-request-method': 'GET',
  'access-control-request-headers': 'authorization',
};

const corsOf = (headers: Record<string, string | string[] | undefined>) =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => name === 'vary' || name.startsWith('access-control-')),
  );

describe('pages of other sites', () => {
  const kit = shared(() => startGatewayKit({ CORS_ORIGINS: `${shop}, http://localhost:5173` }));
  const open = shared(() => startGateway({ ...kit.env, CORS_ORIGINS: '*' }));

  const restricted = () => kit.issue({ scopes: ['pets-service:read'] });
  const from = (origin: string, headers: Record<string, string> = {}) => ({
    headers: { origin, ...headers },
  });
  const ask = (path: string, origin: string, gateway = kit.gateway) =>
    send(gateway.url + path, { method: 'OPTIONS', ...from(origin, preflight) });

  test('a preflight of an allowed site says what its pages may send', async () => {
    const response = await ask('/v1/pets', shop);
    expect([response.status, response.text, response.header('X-RateLimit-Limit')]).toEqual([204, '', '60']);
    expect(corsOf(response.headers)).toEqual({
      vary: 'Origin',
      'access-control-allow-origin': shop,
      'access-control-expose-headers': '*',
      'access-control-allow-methods': 'GET, HEAD, POST, OPTIONS',
      'access-control-allow-headers': 'Authorization, *',
      'access-control-max-age': '7200',
    });
  });

  test('a preflight for a path that does not exist succeeds, so that the page can read the 404', async () => {
    const { key } = await restricted();
    expect(await ask('/v1/nothing', shop)).toMatchObject({
      status: 204,
      headers: { 'x-ratelimit-limit': '60' },
    });
    const response = await send(`${kit.gateway.url}/v1/nothing`, { key, ...from(shop) });
    expect(response.json).toMatchObject({ code: 'not_found' });
    expect(response.header('access-control-allow-origin')).toBe(shop);
  });

  test.each([
    'https://shop.example.evil.example',
    'http://shop.example',
    'https://shop.example:8443',
    'https://SHOP.example',
    'null',
    `${shop}, https://evil.example`,
  ])('an origin that is not on the list gets no CORS headers: %s', async (origin) => {
    const { key } = await restricted();
    expect(corsOf((await ask('/v1/pets', origin)).headers)).toEqual({ vary: 'Origin' });
    const response = await send(`${kit.gateway.url}/v1/pets`, { key, ...from(origin) });
    expect(response.status).toBe(200);
    expect(corsOf(response.headers)).toEqual({ vary: 'Origin' });
  });

  test('responses and refusals can be read, and Vary has what the service says, too', async () => {
    const { key } = await kit.issue({ scopes: ['pets-service:read'], minute: 2 });
    const respond: typeof kit.upstream.response = (_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json', vary: 'Accept-Language' }).end('[]');
    };
    const expectVisible = async (status: number, vary: string, wanted = key) => {
      const response = await send(`${kit.gateway.url}/v1/pets`, { key: wanted, ...from(shop) });
      const visible = { 'access-control-allow-origin': shop, 'access-control-expose-headers': '*', vary };
      expect([response.status, corsOf(response.headers)]).toEqual([status, visible]);
    };
    kit.upstream.response = respond;
    await expectVisible(200, 'Origin, Accept-Language');
    kit.upstream.response = (req) => req.socket.destroy();
    await expectVisible(502, 'Origin');
    // What failed has cost nothing.
    kit.upstream.response = respond;
    await expectVisible(200, 'Origin, Accept-Language');
    await expectVisible(429, 'Origin');
    await expectVisible(401, 'Origin', 'pets_nonsense');
  });

  test('the response to a request that no parser takes names the site, too', async () => {
    const request = `GET /v1/pets?${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\nOrigin: ${shop}\r\n\r\n`;
    const [head = ''] = (await sendRaw(kit.gateway.port, request)).split('\r\n\r\n');
    expect(head).toContain('HTTP/1.1 431 ');
    expect(head).toContain(`Access-Control-Allow-Origin: ${shop}\r\n`);
  });

  test('an unrestricted key is refused in a page, at the cost of one, and works everywhere else', async () => {
    const { key } = await kit.issue({ minute: 60 });
    const before = kit.upstream.seen.length;
    for (const path of ['/v1/pets', '/v1/usage']) {
      const response = await send(kit.gateway.url + path, { key, ...from(shop) });
      expect(response.json).toEqual({
        code: 'unrestricted_key',
        message:
          'This API key may call every operation, so it does not belong in a browser. Use a key that is restricted by scopes.',
        status: 403,
      });
      expect(response.header('x-ratelimit-remaining')).toBe('59');
      expect(response.header('access-control-allow-origin')).toBe(shop);
    }
    expect(kit.upstream.seen).toHaveLength(before);
    kit.upstream.response = respondWithPets;
    // The gateway's own pages, a server, and a proxy that passes on the Origin of a site that is not allowed.
    for (const origin of [kit.gateway.url, undefined, 'https://other.example']) {
      const headers = origin === undefined ? {} : { origin };
      expect(await send(`${kit.gateway.url}/v1/pets`, { key, headers })).toMatchObject({ status: 200 });
    }
  });

  test('an asterisk allows each site, but not an unrestricted key, unless the page is its own', async () => {
    const { key } = await restricted();
    const unrestricted = await kit.issue();
    for (const origin of ['https://anything.example', 'null']) {
      const response = await send(`${open.url}/v1/pets`, { key, ...from(origin) });
      expect(response).toMatchObject({ status: 200, headers: { 'access-control-allow-origin': '*' } });
      const refused = await send(`${open.url}/v1/pets`, { key: unrestricted.key, ...from(origin) });
      expect(refused.json).toMatchObject({ code: 'unrestricted_key' });
    }
    const own = await send(`${open.url}/v1/pets`, { key: unrestricted.key, ...from(open.url) });
    expect(own.status).toBe(200);
  });
});
