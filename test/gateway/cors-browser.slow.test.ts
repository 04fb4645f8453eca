import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startBrowser, type ObservedPage, type TestBrowser } from '../support/kits/browser.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';

/** Starts a site of its own origin, whose page is empty. */
async function startSite(): Promise<AsyncDisposable & { origin: string }> {
  const server = createServer((_req, res) =>
    res.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Shop</title>'),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Init {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

describe('pages of other sites in Chromium', { tags: ['chromium'] }, () => {
  const stack = new AsyncDisposableStack();
  let kit: GatewayKit;
  let browser: TestBrowser;
  let allowed: string;
  let other: string;

  beforeAll(async () => {
    ({ origin: allowed } = stack.use(await startSite()));
    ({ origin: other } = stack.use(await startSite()));
    kit = stack.use(await startGatewayKit({ CORS_ORIGINS: allowed }));
    browser = stack.use(await startBrowser());
  });
  afterAll(() => stack.disposeAsync());

  /** What a script of the page sees of a request, or its error. */
  const fetchIn = ({ page }: ObservedPage, path: string, key: string, init: Init = {}) =>
    page.evaluate(
      async ({ url, init }) => {
        try {
          const response = await fetch(url, init);
          const { status, headers } = response;
          return { status, headers: Object.fromEntries(headers), body: await response.text() };
        } catch (error) {
          return { error: String(error) };
        }
      },
      {
        url: kit.gateway.url + path,
        init: { ...init, headers: { Authorization: `Bearer ${key}`, ...init.headers } },
      },
    );

  test('a script of an allowed site reads responses, their headers, and refusals', async () => {
    const page = await browser.open(allowed);
    const { key } = await kit.issue({ scopes: ['pets-service:read', 'pets-service:write'], minute: 3 });
    const served = await fetchIn(page, '/v1/pets', key, { headers: { 'X-Request-Id': 'from-a-page' } });
    expect(served).toMatchObject({
      status: 200,
      body: '[]',
      headers: { 'x-ratelimit-remaining': '2', 'x-request-id': 'from-a-page' },
    });
    kit.upstream.response = (_req, res) => {
      const error = { code: 'service_unavailable', message: 'Later.', status: 503 };
      res
        .writeHead(503, { 'content-type': 'application/json', 'retry-after': '7' })
        .end(JSON.stringify(error));
    };
    const unavailable = await fetchIn(page, '/v1/pets', key, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': '"1"' },
      body: '{"name":"Rex","categoryId":1}',
    });
    expect(unavailable).toMatchObject({ status: 503, headers: { 'retry-after': '7' } });
    expect(kit.upstream.seen.at(-1)?.headers).toMatchObject({ 'idempotency-key': '"1"' });
    expect(await fetchIn(page, '/v1/nothing', key)).toMatchObject({ status: 404 });
    const limited = await fetchIn(page, '/v1/pets', key);
    expect(limited).toMatchObject({ status: 429, headers: { 'x-ratelimit-window': 'minute' } });
    expect(limited.headers).toHaveProperty('retry-after');
    const unknown = await fetchIn(page, '/v1/pets', 'pets_nonsense');
    expect(unknown).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } });
    expect(unknown.headers?.['link']).toContain('rel="help"');
  });

  test('a script of another site gets nothing, and its requests do not arrive', async () => {
    const page = await browser.open(other);
    const { key } = await kit.issue({ scopes: ['pets-service:read'] });
    const before = kit.upstream.seen.length;
    expect(await fetchIn(page, '/v1/pets', key)).toEqual({ error: 'TypeError: Failed to fetch' });
    expect(kit.upstream.seen).toHaveLength(before);
    expect(page.complaints.join()).toContain('CORS policy');
  });
});
