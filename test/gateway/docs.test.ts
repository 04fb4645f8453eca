import { describe, expect, test } from 'vitest';
import { send } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { shared } from '../support/kits/shared.ts';

const html = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

describe('the public documentation', () => {
  const kit = shared(startGatewayKit);

  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    send(kit.gateway.url + path, { method, headers });

  test.each(['/docs', '/docs/reference', '/docs/clients', '/docs/changelog'])(
    '%s needs no key and is protected by its own policy',
    async (path) => {
      const response = await get(path);
      expect(response.status).toBe(200);
      expect(response.header('Content-Type')).toBe('text/html; charset=utf-8');
      expect(response.header('Cache-Control')).toBe('public, max-age=300');
      expect(response.header('X-Content-Type-Options')).toBe('nosniff');
      expect(response.header('Referrer-Policy')).toBe('no-referrer');
      expect(response.header('X-RateLimit-Limit')).toBeUndefined();
      const policy = response.header('Content-Security-Policy')?.split('; ') ?? [];
      expect(policy).toEqual(
        expect.arrayContaining(["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"]),
      );
      expect(policy.join()).not.toMatch(/unsafe|https?:|\*/);
    },
  );

  test('a page is not sent again to a client that has it', async () => {
    const tag = (await get('/docs')).header('ETag') ?? '';
    expect(await get('/docs', { 'if-none-match': tag })).toMatchObject({ status: 304, text: '' });
  });

  test('the samples of a page as Markdown have the address that was asked', async () => {
    const { text, headers } = await get('/docs/reference.md');
    expect(text).toContain(`'${kit.gateway.url}/v1/pets`);
    expect(headers['cache-control']).toBe('private, max-age=300');
  });

  test('HEAD, OPTIONS and other methods are as everywhere', async () => {
    const head = await get('/docs', {}, 'HEAD');
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(head.header('Content-Length')).toBe((await get('/docs')).header('Content-Length'));
    for (const path of ['/', '/docs', '/docs/assets/x/main.css']) {
      const options = await get(path, {}, 'OPTIONS');
      expect(options).toMatchObject({ status: 204, headers: { allow: 'GET, HEAD, OPTIONS' } });
      const post = await get(path, {}, 'POST');
      expect(post).toMatchObject({ status: 405, json: { code: 'method_not_allowed' } });
    }
  });

  test('/ leads a browser to the documentation, and names it to programs', async () => {
    const browser = await get('/', { accept: html });
    expect(browser).toMatchObject({ status: 302, text: '' });
    expect(browser.header('Location')).toBe('/docs');
    for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }, { accept: 'image/png' }]) {
      const program = await get('/', headers);
      expect(program.status).toBe(200);
      expect(program.json).toEqual({ documentation: '/docs', description: '/openapi.json', api: '/v1' });
      // One address, two responses: a cache must not mix them up.
      expect([program.header('Vary'), browser.header('Vary')]).toEqual(['Accept', 'Accept']);
    }
  });

  test('a slash at the end of the address of a page leads to the page', async () => {
    for (const path of ['/docs/', '/docs/reference/']) {
      const response = await get(path);
      expect(response).toMatchObject({ status: 308, text: '' });
      expect(response.header('Location')).toBe(path.slice(0, -1));
    }
    expect((await get('/docs/nothing/')).json).toMatchObject({ code: 'not_found' });
    expect((await get('/openapi.json/')).json).toMatchObject({ code: 'not_found' });
  });

  test('pages cost neither the quota of a key nor the limit of the address', async () => {
    const { key } = await kit.issue({ plan: 'free' });
    const limitOf = async () => (await get('/v1/pets', {}, 'OPTIONS')).header('X-RateLimit-Remaining');
    const before = await limitOf();
    for (let index = 0; index < 5; index += 1) await send(`${kit.gateway.url}/docs`, { key });
    const { json } = await send(`${kit.gateway.url}/v1/usage`, { key });
    expect(json).toMatchObject({ minute: { used: 0 } });
    expect(await limitOf()).toBe(before);
  });

  describe('/openapi.json', () => {
    const path = '/openapi.json';

    test.each(['', 'br, gzip', 'identity', 'br;q=0, gzip;q=0', 'identity;q=0'])(
      'with Accept-Encoding: %s is the text as it is',
      async (accepted) => {
        const response = await get(path, accepted === '' ? {} : { 'accept-encoding': accepted });
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

    test('is not sent again to a client that has it, and is to one that has another version', async () => {
      const tag = (await get(path)).header('ETag') ?? '';
      expect(tag).toMatch(/^"[^"]{20,}"$/);
      for (const condition of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
        const response = await get(path, { 'if-none-match': condition });
        expect(response).toMatchObject({ status: 304, text: '' });
        expect(response.headers).toMatchObject({
          etag: tag,
          'cache-control': 'private, max-age=300',
          'access-control-allow-origin': '*',
        });
        expect(response.header('Content-Type')).toBeUndefined();
      }
      for (const condition of ['"other"', 'W/"other"', tag.replaceAll('"', '')])
        expect((await get(path, { 'if-none-match': condition })).status).toBe(200);
    });
  });
});
