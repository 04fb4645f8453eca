import { beforeAll, describe, expect, test } from 'vitest';
import { postJson, send, type ClientResponse } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { startGateway } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';

const json = { 'content-type': 'application/json; charset=utf-8' };
const forwarded = { 'x-forwarded-host': 'shop.example', 'x-forwarded-proto': 'https' };

let key: string;

const kit = shared(startGatewayKit);
beforeAll(async () => {
  ({ key } = await kit.issue({ plan: 'business' }));
  kit.upstream.response = ({ method }, res) => {
    if (method === 'POST') {
      res.writeHead(201, { ...json, Location: '/v1/pets/7' }).end('{"id":7}');
      return;
    }
    const links = ['</v1/pets?cursor=A>; rel="next"', '</v1/pets>; rel="successor-version"'];
    res.writeHead(200, { ...json, 'Content-Length': 2, Link: links }).end('[]');
  };
});

/** Checks Link, Location and the servers of the description of a gateway. */
async function expectAddresses(
  url: string,
  base: string,
  headers: Record<string, string> = {},
): Promise<void> {
  expect((await send(`${url}/v1/pets`, { key, headers })).headers['link']).toEqual([
    `<${base}/v1/pets?cursor=A>; rel="next"`,
    `<${base}/v1/pets>; rel="successor-version"`,
  ]);
  const created = await postJson(`${url}/v1/pets`, key, {}, headers);
  expect(created.header('Location')).toBe(`${base}/v1/pets/7`);
  expect(serverOf(await send(`${url}/openapi.json`, { headers }))).toBe(`${base}/v1`);
}

function serverOf({ json: document }: Pick<ClientResponse, 'json'>): unknown {
  return (document as { servers: { url: string }[] }).servers[0]?.url;
}

describe('without PUBLIC_URL', () => {
  test('clients that invent hosts get their own', async () => {
    const tags = new Set<string | undefined>();
    for (let index = 0; index < 20; index += 1) {
      const headers = { host: `host-${index}.example` };
      const described = await send(`${kit.gateway.url}/openapi.json`, { headers });
      expect(serverOf(described)).toBe(`http://${headers.host}/v1`);
      const etag = described.header('ETag') ?? '';
      tags.add(etag);
      const again = { headers: { ...headers, 'if-none-match': etag } };
      expect((await send(`${kit.gateway.url}/openapi.json`, again)).status).toBe(304);
    }
    expect(tags.size).toBe(20);
    await expectAddresses(kit.gateway.url, kit.gateway.url);
  });
});

describe('behind a trusted proxy', () => {
  const gateway = shared(() => startGateway({ ...kit.env, TRUST_PROXY: 'loopback' }));

  test('addresses have the scheme and host that it reports', async () => {
    await expectAddresses(gateway.url, 'https://shop.example', forwarded);
  });
});

describe('with PUBLIC_URL', () => {
  const gateway = shared(() =>
    startGateway({ ...kit.env, TRUST_PROXY: 'loopback', PUBLIC_URL: 'https://api.example.com/animals/' }),
  );

  test('addresses have it, whatever the request or a proxy says', async () => {
    const base = 'https://api.example.com/animals';
    await expectAddresses(gateway.url, base);
    await expectAddresses(gateway.url, base, { host: 'evil.example', ...forwarded });
  });

  test('a shared cache may store the description', async () => {
    const { headers } = await send(`${gateway.url}/openapi.json`);
    expect(headers['cache-control']).toBe('public, max-age=300');
  });
});
