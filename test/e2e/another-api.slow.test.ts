import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { postJson, send, type ClientResponse } from '../support/http/http.ts';
import { runOps, runProgram } from '../support/kits/service.ts';
import { startServicesKit } from '../support/kits/services-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';

const courier = fileURLToPath(new URL('../support/courier/', import.meta.url));

/** What an API that has nothing to do with animals must not say. */
const pets = /\b[Pp]ets?(?![a-z])|animal|\/v1\b/i;

/** Fails with the mention and what is around it. */
function expectNoPets(text: string, where: string): void {
  expect(text.length, where).toBeGreaterThan(0);
  const found = pets.exec(text);
  const mention = found && text.slice(Math.max(0, found.index - 60), found.index + 60);
  expect(mention, where).toBeNull();
}

describe('an API of parcels and boxes', { timeout: 60_000 }, () => {
  const parcels = shared(startUpstream);
  const boxes = shared(startUpstream);
  const kit = shared(() =>
    startServicesKit(
      () =>
        Promise.resolve({
          api: {
            title: 'Courier API',
            basePath: '/courier',
            guide: join(courier, 'guide.md'),
            changelog: join(courier, 'CHANGELOG.md'),
            keyPrefix: 'box_',
            keyVariable: 'COURIER_KEY',
            portal: { title: 'Courier keys', color: '#7a1fa2' },
          },
          services: {
            parcels: { description: join(courier, 'parcels.yaml'), urls: [parcels.url] },
            boxes: { description: join(courier, 'boxes.yaml'), urls: [boxes.url] },
          },
        }),
      { GATEWAY_WORKERS: '2' },
    ),
  );
  let key: string;
  beforeAll(async () => {
    ({ key } = await issueKey('--minute', '1000', '--day', '100000'));
  });

  const ops = (...args: string[]) => runOps(args, { REDIS_URL: kit.server.url });

  async function issueKey(...limits: string[]): Promise<{ key: string; id: string }> {
    const { stdout } = await ops(...'keys issue --name Depot --plan enterprise --json'.split(' '), ...limits);
    return JSON.parse(stdout) as { key: string; id: string };
  }

  const get = (path: string, options: Parameters<typeof send>[1] = {}) =>
    send(kit.gateway.url + path, options);

  /** Follows an address of help as a client does. */
  async function expectHelp(response: ClientResponse): Promise<void> {
    const [, address = ''] = /<([^<>]+)>; rel="help"/.exec(response.header('Link') ?? '') ?? [];
    const { pathname, hash } = new URL(address, kit.gateway.url);
    const { text } = await get(pathname);
    expect(text).toContain(` id="${hash.slice(1)}"`);
  }

  test('a command without the file issues keys with its prefix, and reads them', async () => {
    expect(key).toMatch(/^box_[0-9A-Za-z]{38}$/);
    const found = await runProgram(
      ['gateway/faces/command/main.ts', 'keys', 'show', '--json'],
      { REDIS_URL: kit.server.url },
      { input: key },
    );
    expect(JSON.parse(found.stdout)).toMatchObject({ name: 'Depot', hint: `${key.slice(0, 8)}…` });
    const byHint = await ops('keys', 'show', key.slice(0, 8), '--json');
    expect(JSON.parse(byHint.stdout)).toMatchObject({ name: 'Depot' });
  });

  test('each service gets the requests under its own base path, and use is under that of the API', async () => {
    expect((await get('/parcels/v2/parcels?new', { key })).status).toBe(200);
    parcels.response = (_req, res) => {
      res
        .writeHead(201, { 'content-type': 'application/json', location: '/parcels/v2/parcels/CR9' })
        .end('{}');
    };
    const sent = await postJson(`${kit.gateway.url}/parcels/v2/parcels`, key, { tracking: 'CR9', grams: 1 });
    expect(sent.header('Location')).toBe(`${kit.gateway.url}/parcels/v2/parcels/CR9`);
    expect((await get('/depot/boxes/m', { key })).status).toBe(200);
    expect(parcels.seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /parcels/v2/parcels?new',
      'POST /parcels/v2/parcels',
    ]);
    expect(boxes.seen.map(({ url }) => url)).toEqual(['/depot/boxes/m']);
    const usage = await get('/courier/usage', { key });
    expect(usage.json).toMatchObject({ plan: 'enterprise', key: { name: 'Depot' } });
    expectNoPets(usage.text, '/courier/usage');
    const allowed = await get('/depot/boxes/m', { method: 'OPTIONS' });
    expect(allowed.header('Allow')).toBe('GET, HEAD, OPTIONS');
    expect(allowed.header('X-RateLimit-Limit')).toBeDefined();
    for (const path of ['/v1/pets', '/v1/usage', '/parcels/parcels', '/depot/parcels', '/boxes/m'])
      expect((await get(path, { key })).status, path).toBe(404);
    expect((await get('/', { headers: { accept: 'application/json' } })).json).toMatchObject({
      api: '/courier',
    });
  });

  test('its description says nothing of pets', async () => {
    const { json, text } = await get('/openapi.json');
    expectNoPets(text, '/openapi.json');
    expect(json).toMatchObject({
      info: { title: 'Courier API', contact: { name: 'Support of the Courier API' } },
      servers: [{ url: kit.gateway.url }],
      components: { securitySchemes: { apiKey: { description: 'An API key, which starts with `box_`.' } } },
    });
    expect(Object.keys((json as { paths: object }).paths)).toEqual([
      '/parcels/v2/parcels',
      '/parcels/v2/parcels/{tracking}',
      '/depot/boxes/{size}',
      '/courier/usage',
    ]);
    expect(text).toContain('Every request under `/courier`, `/parcels/v2`, `/depot` needs an API key');
  });

  test('its pages and their scripts say nothing of pets', async () => {
    const addresses = new Set(['/docs', '/docs/reference', '/docs/changelog']);
    const texts = new Map<string, string>();
    for (const address of addresses) {
      const { status, text } = await get(address);
      expect(status, address).toBe(200);
      texts.set(address, text);
      expectNoPets(text, address);
      for (const [, found = ''] of text.matchAll(/(?:href|src)="(\/docs[^"#]*)/g)) addresses.add(found);
    }
    expect([...addresses].some((address) => address.endsWith('/main.js'))).toBe(true);
    expect(texts.get('/docs')).toContain('Your first parcel, from the label to the door.');
    expect(texts.get('/docs')).toContain('<title>Guide – Courier API</title>');
    expect(texts.get('/docs/changelog')).toContain('Parcels may weigh up to 30 kg.');
    const reference = texts.get('/docs/reference') ?? '';
    expect(reference).toContain('/depot/boxes/m&#39;');
    expect(reference).toContain('Bearer $COURIER_KEY');
    expect(reference).toContain('placeholder="box_…"');
    expect((await get('/docs/clients')).status).toBe(404);
  });

  test('its errors say nothing of pets, and their help is in the guide', async () => {
    const { key: small } = await issueKey('--minute', '1', '--day', '100');
    await get('/parcels/v2/parcels', { key: small });
    const expected: [number, string, Promise<ClientResponse>][] = [
      [401, 'missing_api_key', get('/parcels/v2/parcels')],
      [401, 'malformed_api_key', get('/depot/boxes/m', { key: `pets_${key.slice(4)}` })],
      [
        401,
        'malformed_api_key',
        get('/depot/boxes/m', { key: `${key.slice(0, -1)}${key.endsWith('x') ? 'y' : 'x'}` }),
      ],
      [404, 'not_found', get('/parcels/v2/letters', { key })],
      [404, 'not_found', get('/v2')],
      [405, 'method_not_allowed', get('/depot/boxes/m', { key, method: 'DELETE' })],
      [429, 'rate_limit_exceeded', get('/depot/boxes/m', { key: small })],
    ];
    for (const [status, code, sent] of expected) {
      const response = await sent;
      expect(response.json).toMatchObject({ status, code });
      // The body only: the path of the request is no word of the gateway's.
      expectNoPets(response.text, code);
      await expectHelp(response);
    }
    expect((await get('/depot/boxes/m', { key: 'nothing' })).json).toMatchObject({
      message: 'An API key is box_ with 38 letters and digits after it, without quotes.',
    });
    boxes.response = (_req, res) => res.destroy();
    boxes.readiness = (res) => res.destroy();
    // Each worker notices it by itself.
    let unavailable = await get('/depot/boxes/m', { key });
    await expect
      .poll(async () => {
        unavailable = await get('/depot/boxes/m', { key });
        return unavailable.status;
      })
      .toBe(503);
    expect(unavailable.json).toMatchObject({ code: 'upstream_unavailable' });
    expectNoPets(unavailable.text, '503');
    await expectHelp(unavailable);
  });

  test('its console and its portal have their names, and say nothing of pets', async () => {
    for (const [origin, path, title] of [
      [kit.gateway.adminUrl, '/console', 'Courier API gateway'],
      [kit.gateway.url, '/portal', 'Courier keys'],
    ] as const) {
      const { text } = await send(origin + path);
      expect(text).toContain(title);
      expectNoPets(text, path);
      const scripts = Array.from(text.matchAll(/src="([^"]+)"/g), ([, found = '']) => found);
      expect(scripts.length).toBeGreaterThan(0);
      for (const script of scripts) expectNoPets((await send(origin + script)).text, script);
    }
  });
});
