import { describe, expect, test } from 'vitest';
import { apiScopes } from '../../gateway/control/access/api-scopes.ts';
import { readAudit } from '../../gateway/control/audit/audit-log.ts';
import { apiRoutes } from '../../gateway/faces/api/api.ts';
import { recordSecrets } from '../support/checks/evidence.ts';
import { send } from '../support/http/http.ts';
import { sendWithToken, startConsoleApi, type ApiResponse } from '../support/kits/console-api-kit.ts';
import { contents } from '../support/kits/ops-kit.ts';
import { startGateway } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';

const api = shared(startConsoleApi);

/** Paths lead to nothing, so that what is permitted changes nothing, either. */
const operations = apiRoutes
  .filter(({ operation }) => operation.access !== 'open')
  .map(({ method, path, scope, operation }) => ({
    name: operation.operationId,
    method: method.toUpperCase(),
    path: `/api${path.replaceAll(/:\w+/g, 'x')}`,
    scope,
  }));
const forTokens = operations.flatMap(({ scope, ...one }) => (scope === undefined ? [] : { ...one, scope }));

function expectRefusal({ status, body, headers }: ApiResponse, expected: number, code: string): void {
  expect(body).toEqual({ code, message: expect.any(String) as string, status: expected });
  expect(status).toBe(expected);
  expect(headers.get('WWW-Authenticate') === 'Bearer').toBe(code === 'invalid_token');
}

describe('scopes', () => {
  test.each(forTokens)('$name needs $scope, and the refusal names it', async ({ method, path, scope }) => {
    const [noun] = scope.split(':');
    const others = apiScopes.filter(
      (other) => !other.startsWith(`${noun}:`) || other === scope.replace('write', 'read'),
    );
    const lacking = scope.endsWith(':read') ? others.filter((other) => other !== scope) : others;
    const body = method === 'GET' ? undefined : {};
    const refused = await (await api.issueToken(lacking)).send(method, path, body);
    expectRefusal(refused, 403, 'insufficient_scope');
    expect(refused.body).toMatchObject({
      message: expect.stringContaining(`needs the scope ${scope}.`) as string,
    });
    expect(refused.headers.get('WWW-Authenticate')).toBe(
      `Bearer error="insufficient_scope", scope="${scope}"`,
    );
  });

  test.each(forTokens.filter(({ method, path }) => method !== 'GET' && !path.includes('reset')))(
    '$name is permitted with $scope, without Origin and without a token of a session',
    async ({ method, path, scope }) => {
      const response = await (await api.issueToken([scope])).send(method, path, { unknown: true });
      // What is refused now is the input, or what the path names.
      expect([400, 404, 422]).toContain(response.status);
    },
  );

  test.each(operations.filter(({ scope }) => scope === undefined))(
    '$name is closed to tokens, whatever their scopes',
    async ({ method, path }) => {
      const { send } = await api.issueToken(apiScopes);
      expectRefusal(await send(method, path, method === 'GET' ? undefined : {}), 403, 'session_required');
    },
  );

  test('a path that does not exist is not found', async () => {
    const { send } = await api.issueToken(apiScopes);
    for (const method of ['GET', 'POST']) {
      expectRefusal(await send(method, '/api/nothing', method === 'GET' ? undefined : {}), 404, 'not_found');
    }
  });
});

describe('a token', () => {
  const customer = { name: 'Shop', plan: 'pro' };

  test('is the name in the audit log, with its id', async () => {
    const named = await api.issueToken(['customers:write'], { name: 'billing' });
    const unnamed = await api.issueToken(['customers:write']);
    for (const { send } of [named, unnamed]) {
      const made = await send('POST', '/api/customers', customer, { 'X-Change-Reason': 'checkout%207' });
      expect(made).toMatchObject({ status: 201, body: customer });
    }
    expect(await readAudit(api.redis, 2)).toMatchObject([
      { who: `billing (${named.id})`, action: 'customers.create', reason: 'checkout 7' },
      { who: unnamed.id, action: 'customers.create' },
    ]);
  });

  test('counts alone: a cookie beside it adds nothing and takes nothing away', async () => {
    const [operator, viewer] = [await api.signIn(), await api.signIn({ role: 'viewer' })];
    const reader = await api.issueToken(['customers:read']);
    const writer = await api.issueToken(['customers:write']);
    const create = (send: typeof reader.send, cookie: string, csrfToken: string) =>
      send('POST', '/api/customers', customer, {
        Cookie: cookie,
        'X-CSRF-Token': csrfToken,
        Origin: api.origin,
      });
    const { cookie, csrfToken } = operator;
    expectRefusal(await create(reader.send, cookie, csrfToken), 403, 'insufficient_scope');
    expectRefusal(await create(sendWithToken(api.origin, 'wrong'), cookie, csrfToken), 401, 'invalid_token');
    expect((await create(writer.send, viewer.cookie, viewer.csrfToken)).status).toBe(201);
  });

  test.each([
    ['no token', 'Bearer'],
    ['a wrong token', `Bearer ops_${'x'.repeat(43)}`],
    ['a long text', `Bearer ${'x'.repeat(5000)}`],
    ['two tokens', `Bearer ops_${'x'.repeat(43)} ops_${'y'.repeat(43)}`],
  ])('that is %s is refused', async (_, authorization) => {
    const sendAs = sendWithToken(api.origin, '');
    const response = await sendAs('GET', '/api/plans', undefined, { Authorization: authorization });
    expectRefusal(response, 401, 'invalid_token');
  });

  test('is a Bearer token: what a proxy asks for itself is ignored', async () => {
    const { send } = await api.signIn();
    const headers = { Authorization: 'Basic b3BzOng=' };
    expect((await send('GET', '/api/key-plans', undefined, headers)).status).toBe(200);
    const sendAs = sendWithToken(api.origin, '');
    expectRefusal(await sendAs('GET', '/api/plans', undefined, headers), 401, 'no_session');
    // A program without its token learns that, and nothing of pages and their Origin.
    expectRefusal(await sendAs('POST', '/api/customers', { name: 'x' }, headers), 401, 'no_session');
  });

  test('has 600 requests a minute, and takes nothing from others', async () => {
    const [busy, other] = [await api.issueToken(['plans:read']), await api.issueToken(['plans:read'])];
    const responses = [];
    for (let batch = 0; batch < 30; batch += 1) {
      responses.push(
        ...(await Promise.all(Array.from({ length: 20 }, () => busy.send('GET', '/api/key-plans')))),
      );
    }
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    const refused = await busy.send('GET', '/api/key-plans');
    expectRefusal(refused, 429, 'too_many_requests');
    const waitSeconds = Number(refused.headers.get('Retry-After'));
    expect(waitSeconds).toBeGreaterThan(0);
    expect(waitSeconds).toBeLessThanOrEqual(60);
    expect((await other.send('GET', '/api/key-plans')).status).toBe(200);
  });
});

test('wrong tokens are limited by address, and leave a trace; a right one works at any time', async () => {
  await using other = await startGateway(api.env);
  const { token } = await api.issueToken(['plans:read']);
  const wrong = sendWithToken(other.adminUrl, `ops_${'x'.repeat(43)}`);
  const statuses = [];
  for (let attempt = 0; attempt < 12; attempt += 1) statuses.push((await wrong('GET', '/api/plans')).status);
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429]);
  expect(Number((await wrong('GET', '/api/plans')).headers.get('Retry-After'))).toBeGreaterThan(0);
  expect((await sendWithToken(other.adminUrl, token)('GET', '/api/key-plans')).status).toBe(200);
  expect(other.output()).toContain('"code":"invalid_token"');
});

test('no token gets into logs, metrics, responses or Redis', async () => {
  const { token, send: sendAs } = await api.issueToken(['customers:write']);
  await sendAs('POST', '/api/customers', { name: token, plan: 'nothing' });
  await sendAs('POST', '/api/plans', {});
  await sendAs('GET', `/api/customers/${token}`);
  recordSecrets(token);
  const { text } = await send(`${api.origin}/metrics`);
  for (const where of [api.gateway.output(), text, JSON.stringify(await contents(api.redis))])
    expect(where).not.toContain(token.slice(4));
});
