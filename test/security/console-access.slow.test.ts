import { beforeAll, describe, expect, test } from 'vitest';
import type { ConsoleRole } from '../../gateway/control/access/console-sessions.ts';
import { apiRoutes } from '../../gateway/faces/api/api.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { recordSecrets } from '../support/checks/evidence.ts';
import { expectRefusal } from '../support/checks/refusal.ts';
import { parseRaw, send, sendRaw, type ClientResponse } from '../support/http/http.ts';
import { signIn as signInAt, startConsoleApi } from '../support/kits/console-api-kit.ts';
import { startGateway } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';

let origin: string;

const kit = shared(startConsoleApi);
beforeAll(() => {
  ({ origin } = kit);
});

const makeCode = (role: ConsoleRole = 'operator', name = 'Ada') => kit.makeCode({ role, name });

interface Call {
  body?: unknown;
  headers?: Record<string, string>;
  at?: string;
}

/** Sends what the page sends, with other headers on request. An empty header is left out. */
function call(
  method: string,
  path: string,
  { body, headers = {}, at = origin }: Call = {},
): Promise<ClientResponse> {
  const all = {
    origin: at,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...headers,
  };
  return send(at + path, {
    method,
    headers: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== '')),
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
}

/** @returns also the headers of a change */
async function signIn(role: ConsoleRole = 'operator', at = origin) {
  const { cookie, csrfToken } = await signInAt(kit.redis, at, { role });
  const [, token = ''] = cookie.split('=');
  return { cookie, token, csrfToken, headers: { cookie, 'x-csrf-token': csrfToken } };
}

/** Each route that needs a session, and one that does not exist: what is refused does not tell which there are. */
const routes = apiRoutes
  .filter(({ operation }) => operation.access !== 'open')
  .map(({ method, path }) => ({ method: method.toUpperCase(), path: `/api${path.replaceAll(/:\w+/g, 'x')}` }))
  .concat({ method: 'POST', path: '/api/nothing' });
const changes = routes.filter(({ method }) => method !== 'GET');

describe('signing in', () => {
  test('a code is exchanged for a cookie that no script can read, for twelve hours, and works once', async () => {
    const body = { code: await makeCode('viewer', 'Ada') };
    const response = await call('POST', '/api/session', { body });
    expect(response.status).toBe(200);
    const { port } = new URL(origin);
    expect(response.header('set-cookie')).toMatch(
      new RegExp(
        `^console-session-${port}=[\\w-]{43}; Max-Age=43200; Path=/; Expires=[^;]+; HttpOnly; SameSite=Strict$`,
      ),
    );
    expect(response.header('cache-control')).toBe('no-store');
    expect(response.header('access-control-allow-origin')).toBeUndefined();
    expect(response.json).toEqual({
      name: 'Ada',
      role: 'viewer',
      expiresAt: expect.any(String) as string,
      csrfToken: expect.stringMatching(/^[\w-]{43}$/) as string,
      version: expect.any(String) as string,
    });
    expectRefusal(await call('POST', '/api/session', { body }), 401, 'invalid_code');
  });

  test.each([
    ['no body', undefined],
    ['no JSON', '{'],
    ['no code', '{}'],
    ['a long code', JSON.stringify({ code: 'x'.repeat(200) })],
    ['another field', '{"code":"x","role":"operator"}'],
    ['__proto__', '{"code":"x","__proto__":{"role":"operator"}}'],
  ])('a body with %s is refused', async (_, body) => {
    expectRefusal(await call('POST', '/api/session', { body }), 400, 'bad_request');
  });

  test('a body of another type, or one that is too large, is refused', async () => {
    const code = await makeCode();
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const headers = { 'content-type': type };
      const refused = await call('POST', '/api/session', { body: JSON.stringify({ code }), headers });
      expectRefusal(refused, 400, 'bad_request');
    }
    const large = await call('POST', '/api/session', { body: { code: 'x'.repeat(100_000) } });
    expectRefusal(large, 413, 'payload_too_large');
    expect((await call('POST', '/api/session', { body: { code } })).status).toBe(200);
  });

  test('wrong codes are limited; a right one after some typos works', async () => {
    await using other = await startGateway({ ...kit.env });
    const at = other.adminUrl;
    const attempt = (code: string) => call('POST', '/api/session', { body: { code }, at });
    for (let typo = 0; typo < 9; typo += 1) expect((await attempt('x'.repeat(22))).status).toBe(401);
    const code = await makeCode();
    expect((await attempt(code)).status).toBe(200);
    expect((await attempt(code)).status).toBe(401);
    // Also many at once.
    const refused = await Promise.all(Array.from({ length: 20 }, () => attempt('x'.repeat(22))));
    for (const response of refused) {
      expectRefusal(response, 429, 'too_many_requests');
      expect(Number(response.header('retry-after'))).toBeGreaterThan(0);
      expect(Number(response.header('retry-after'))).toBeLessThanOrEqual(60);
    }
    // Nobody is locked out by the wrong codes of others at the same address.
    expect((await attempt(await makeCode())).status).toBe(200);
  });
});

describe('a session', () => {
  test('is over at once when its person signs out, and the cookie is removed', async () => {
    const { headers } = await signIn('viewer');
    const response = await call('DELETE', '/api/session', { headers });
    expect(response.status).toBe(204);
    expect(response.header('set-cookie')).toMatch(/^console-session-\d+=; Path=\/; Expires=Thu, 01 Jan 1970/);
    expectRefusal(await call('GET', '/api/session', { headers }), 401, 'no_session');
  });

  test('is found among many cookies, also beside others of its name, which another port can set', async () => {
    const { cookie, token } = await signIn();
    const status = async (text: string) =>
      (await call('GET', '/api/session', { headers: { cookie: text } })).status;
    const name = cookie.split('=')[0];
    const many = Array.from({ length: 300 }, (_, index) => `c${index}=v`).join('; ');
    expect(await status(`${many}; ${cookie}; =; ;;a`)).toBe(200);
    expect(await status(`${cookie}; ${cookie}`)).toBe(200);
    expect(await status(`${cookie}; ${name}=${'x'.repeat(43)}`)).toBe(200);
    expect(await status(`${name}=${'x'.repeat(43)}; ${name}=junk; ${cookie}`)).toBe(200);
    expect(await status(`__Host-console-session=${token}`)).toBe(401);
    // Nobody but the person chooses whose session it is.
    expect(await status(`${cookie}; ${(await signIn()).cookie}`)).toBe(401);
    for (const wrong of [
      '',
      token,
      `${name}=`,
      `${name}="${token}"`,
      `${name}=${token.slice(1)}`,
      `${name}=${token}x`,
      `x${name}=${token}`,
      `${name}=${token.toLowerCase()}`,
      `${name}=__proto__`,
      '; '.repeat(3000),
    ]) {
      expect(await status(wrong)).toBe(401);
    }
  });

  test('ends when its browser signs in again, and is not replaced by that of somebody else unasked', async () => {
    const { headers } = await signIn();
    const exchange = (body: object) => call('POST', '/api/session', { body, headers });
    const status = async () => (await call('GET', '/api/session', { headers })).status;
    const code = await makeCode('operator', 'Grace');
    const refused = await exchange({ code });
    expectRefusal(refused, 409, 'conflict');
    expect(refused.json).toMatchObject({
      message: 'This browser is signed in as Ada, and the link is for Grace.',
    });
    expect(refused.header('set-cookie')).toBeUndefined();
    expect(await status()).toBe(200);
    expect((await exchange({ code, replace: true })).json).toMatchObject({ name: 'Grace' });
    expect(await status()).toBe(401);
    const again = await signIn();
    const renewed = { headers: again.headers, body: { code: await makeCode() } };
    expect((await call('POST', '/api/session', renewed)).status).toBe(200);
    expect((await call('GET', '/api/session', { headers: again.headers })).status).toBe(401);
  });

  test.each(routes)('$method $path needs one', async ({ method, path }) => {
    const body = method === 'GET' ? {} : { body: {} };
    expectRefusal(await call(method, path, body), 401, 'no_session');
  });
});

describe('a change', () => {
  const operator = shared(() => signIn());
  const another = shared(() => signIn());

  test.each(changes)(
    '$method $path is refused without the token of the session',
    async ({ method, path }) => {
      const { headers, csrfToken } = operator;
      const { csrfToken: foreign } = another;
      for (const token of ['', foreign, csrfToken.slice(1), `${csrfToken}x`, 'é'.repeat(43)]) {
        const response = await call(method, path, {
          headers: { ...headers, 'x-csrf-token': token },
          body: {},
        });
        expectRefusal(response, 403, 'invalid_csrf_token');
      }
    },
  );

  test.each(['https://evil.example', 'http://localhost:1', 'null', ''])(
    'from the Origin "%s" is refused',
    async (foreign) => {
      const { headers } = operator;
      for (const { method, path } of [...changes, { method: 'POST', path: '/api/session' }]) {
        const response = await call(method, path, { headers: { ...headers, origin: foreign }, body: {} });
        expectRefusal(response, 403, 'forbidden_origin');
      }
    },
  );

  test('from another port or host of the same site is refused, and so is reading', async () => {
    const { headers } = await signIn();
    for (const site of ['same-site', 'cross-site', 'x']) {
      const sent = { ...headers, 'sec-fetch-site': site };
      expectRefusal(
        await call('GET', '/api/session', { headers: { ...sent, origin: '' } }),
        403,
        'forbidden_origin',
      );
      expectRefusal(await call('DELETE', '/api/session', { headers: sent }), 403, 'forbidden_origin');
    }
    expect(
      (await call('GET', '/api/session', { headers: { ...headers, origin: 'http://localhost:1' } })).status,
    ).toBe(403);
    expect(
      (await call('GET', '/api/session', { headers: { ...headers, 'sec-fetch-site': 'none' } })).status,
    ).toBe(200);
  });

  test('with a body that is malformed, too large or no JSON is refused', async () => {
    const { headers } = await signIn();
    const body = (text: string, type = 'application/json') =>
      call('POST', '/api/nothing', { headers: { ...headers, 'content-type': type }, body: text });
    expectRefusal(await body('{'), 400, 'bad_request');
    expectRefusal(await body(JSON.stringify('x'.repeat(70_000))), 413, 'payload_too_large');
    expectRefusal(await body('a=b', 'application/x-www-form-urlencoded'), 400, 'bad_request');
    expectRefusal(await body('{}', 'text/plain'), 400, 'bad_request');
    expectRefusal(await body('{}'), 404, 'not_found');
  });
});

describe('a foreign Host', () => {
  const raw = (head: string) => sendRaw(Number(new URL(origin).port), `${head}\r\nConnection: close\r\n\r\n`);

  test.each(['evil.example', 'localhost.evil.example', '127.0.0.1.nip.io', 'x@localhost'])(
    '%s, which may resolve to this address, gets neither page nor API',
    async (host) => {
      const { cookie } = await signIn();
      for (const path of ['/console', '/api/session']) {
        const response = parseRaw(await raw(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookie}`));
        expect(response.status).toBe(421);
      }
    },
  );

  test('does not make its own Origin the console’s', async () => {
    const { cookie, csrfToken } = await signIn();
    for (const [host, foreign] of [
      ['localhost', 'http://evil.example'],
      ['127.0.0.1', 'http://localhost'],
      ['[::1]', 'http://127.0.0.1'],
    ]) {
      const response = parseRaw(
        await raw(
          `DELETE /api/session HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${foreign}\r\nCookie: ${cookie}\r\nX-CSRF-Token: ${csrfToken}`,
        ),
      );
      expect(response.status).toBe(403);
    }
  });
});

describe('with ADMIN_URL', () => {
  test('the console is used behind a proxy that ends TLS, with a cookie that only https carries', async () => {
    await using behind = await startGateway({ ...kit.env, ADMIN_URL: 'https://console.example.com/' });
    const port = Number(new URL(behind.adminUrl).port);
    const exchange = async (head: string, body = '') =>
      sendRaw(
        port,
        `${head}\r\nHost: console.example.com\r\n${body === '' ? '' : 'Content-Type: application/json\r\n'}Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
      );
    const begun = await exchange(
      'POST /api/session HTTP/1.1\r\nOrigin: https://console.example.com',
      JSON.stringify({ code: await makeCode() }),
    );
    const [cookie = ''] = /__Host-console-session=[\w-]{43}/.exec(begun) ?? [];
    expect(begun).toMatch(/^Set-Cookie: __Host-[^;]+;.* Path=\/;.* HttpOnly; Secure; SameSite=Strict\r$/m);
    recordSecrets(cookie);
    const read = (text: string) => exchange(`GET /api/session HTTP/1.1\r\nCookie: ${text}`);
    expect(await read(cookie)).toMatch(/^HTTP\/1\.1 200 /);
    // A cookie that another host of the domain has set cannot have the prefix, and does not count in any way.
    const [, token] = cookie.split('=');
    const unprefixed = ['', '-80', '-443', `-${port}`]
      .map((end) => `console-session${end}=${token}`)
      .join('; ');
    expect(await read(unprefixed)).toMatch(/^HTTP\/1\.1 401 /);
    expect(await read(`${unprefixed.replaceAll(/=./g, '=x')}; ${cookie}`)).toMatch(/^HTTP\/1\.1 200 /);
    for (const foreign of ['https://console.example.com.evil.example', 'http://console.example.com']) {
      const refused = await exchange(`POST /api/session HTTP/1.1\r\nOrigin: ${foreign}`, '{}');
      expect(refused).toMatch(/^HTTP\/1\.1 403 /);
    }
    for (const path of ['/console', '/api/session', '/livez']) {
      const response = await exchange(`GET ${path} HTTP/1.1`);
      expect(response).toMatch(/^Strict-Transport-Security: max-age=31536000\r$/m);
    }
  });
});

test('refused requests leave, once a minute for each address, a line in the log without the path', async () => {
  const { key } = await kit.issue();
  await using other = await startGateway({ ...kit.env });
  const at = other.adminUrl;
  // The page asks so who is signed in.
  expect((await call('GET', '/api/session', { at })).status).toBe(401);
  expect(other.output()).not.toContain('refused a request');
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await call('POST', '/api/session', { body: { code: 'x'.repeat(22) }, at });
    await call('GET', `/api/keys/${key}`, { at });
  }
  const { headers } = await signIn('viewer', at);
  await call('POST', `/api/keys/${key}/revoke`, { headers, body: {}, at });
  const lines = () =>
    other
      .output()
      .split('\n')
      .filter((line) => line.includes('refused a request'));
  await expect.poll(lines).toHaveLength(3);
  expect(lines().map((line) => JSON.parse(line) as object)).toMatchObject(
    ['invalid_code', 'no_session', 'operator_required'].map((code) => ({
      level: 40,
      address: '127.0.0.1',
      code,
    })),
  );
  expect(other.output()).not.toContain(key);
});

test('no code, cookie or token gets into logs, metrics or the audit log', async () => {
  const code = await makeCode('operator', 'Mallory <script>\u{202E}');
  const begun = await call('POST', '/api/session', { body: { code } });
  const { csrfToken } = begun.json as { csrfToken: string };
  const token = /=([\w-]{43});/.exec(String(begun.header('set-cookie')))?.[1] ?? '';
  const headers = {
    cookie: String(begun.header('set-cookie')).split(';')[0] ?? '',
    'x-csrf-token': csrfToken,
  };
  await call('POST', '/api/session', { body: { code } });
  await call('POST', '/api/nothing', { headers, body: `{"code":"${code}"` });
  await call('DELETE', '/api/session', { headers });
  const audit = await kit.redis.xrange(redisKeys.audit, '-', '+');
  expect(JSON.stringify(audit)).toContain('console.end');
  const metrics = await send(`${origin}/metrics`);
  for (const secret of [code, token, csrfToken]) {
    expect(secret.length).toBeGreaterThan(20);
    for (const text of [kit.gateway.output(), metrics.text, JSON.stringify(audit)]) {
      expect(text).not.toContain(secret);
    }
  }
});
