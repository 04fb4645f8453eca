import { beforeAll, describe, expect, test, vi } from 'vitest';
import { portalOperations } from '../../gateway/control/access/portal-operations.ts';
import type { OperationContext } from '../../gateway/control/operation.ts';
import { portalRoutes } from '../../gateway/faces/portal/portal-api.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { recordSecrets } from '../support/checks/evidence.ts';
import { send } from '../support/http/http.ts';
import { startConsoleApi } from '../support/kits/console-api-kit.ts';
import { placeOfKey, sessionOf } from '../support/kits/keys.ts';
import { contents } from '../support/kits/ops-kit.ts';
import { enterPortal, portalCode, sendToPortal, type PortalCustomer } from '../support/kits/portal-kit.ts';
import { startGateway } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { recordUse } from '../support/stores/day-counter.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

interface Key {
  id: string;
  key: string;
  state: string;
  lastUsedAt: string | null;
}

/** Gateways report every five seconds. */
const reported = { timeout: 15_000, interval: 100 };

/** A path with an id in place of its parameter. */
const filled = (path: string, id: string) => path.replace(':id', id);

describe('the portal', () => {
  const started = shared(startConsoleApi);
  const operator = shared(() => started.signIn());

  const url = () => started.gateway.url;
  const pets = (key: string, path = '/pets') => send(`${url()}/v1${path}`, { key });
  const enter = (customerId: string) => enterPortal(url(), started.redis, customerId);
  async function beginSession(body: object, headers: Record<string, string> = {}, at = url()) {
    const begun = await sendToPortal(at, 'POST', '/session', body, headers);
    recordSecrets(`${String(begun.headers['set-cookie'])} ${begun.text}`);
    return begun;
  }
  /** Everything of a customer in Redis. */
  const slotOf = async (customerId: string) =>
    (await contents(started.redis)).filter(([key]) => key.includes(`{${customerId}}`));
  const newCustomer = async (name: string) => {
    const issued = await started.issue({ name, plan: 'free' });
    return { ...issued, portal: await enter(issued.customerId) };
  };
  async function create(portal: PortalCustomer, body: object = { name: 'Own' }): Promise<Key> {
    const response = await portal.send('POST', '/keys', body);
    expect(response.status, response.text).toBe(201);
    const key = response.json as Key;
    recordSecrets(key.key);
    return key;
  }

  test('is entered by a link of the operators’ API, which works once', async () => {
    const { customerId } = await started.issue({ name: 'Linked' });
    const made = await operator.send('POST', `/api/customers/${customerId}/link`);
    expect(made).toMatchObject({ status: 201, body: { customer: customerId, warnings: [] } });
    const { link } = made.body as { link: string };
    recordSecrets(link);
    expect(link).toMatch(new RegExp(`^${url().replace('127.0.0.1', 'localhost')}/portal#code=[\\w-]{22}$`));
    const [, code = ''] = link.split('#code=');
    const begun = await beginSession({ code });
    expect(begun).toMatchObject({ status: 200, json: { customerId } });
    expect(String(begun.headers['set-cookie'])).toMatch(
      /^portal-session-\d+=[\w-]{43}; Max-Age=3600; Path=\/portal; Expires=[^;]+; HttpOnly; SameSite=Strict$/,
    );
    expect(begun.headers['cache-control']).toBe('no-store');
    const again = await beginSession({ code });
    expect(again).toMatchObject({ status: 401, json: { code: 'invalid_code', status: 401 } });
    expect(await operator.send('GET', `/api/audit?target=${customerId}`)).toMatchObject({
      body: {
        items: [
          { who: `portal:${customerId}`, action: 'portal.sign_in' },
          { who: 'Ada', action: 'portal.link' },
          { action: 'keys.issue' },
        ],
      },
    });
    expect((await operator.send('POST', '/api/customers/cus_none/link')).status).toBe(404);
    // Neither the code nor the token is in Redis, but their hashes.
    const stored = JSON.stringify(await contents(started.redis));
    expect(stored).not.toContain(code);
  });

  test('a link needs a scope of its own, and ends with the token that made it, as does its session', async () => {
    const { customerId } = await started.issue({ name: 'Of a program' });
    const path = `/api/customers/${customerId}/link`;
    const other = await started.issueToken(['customers:write', 'keys:read']);
    expect((await other.send('POST', path)).status).toBe(403);
    const program = await started.issueToken(['links:write']);
    const makeCode = async () => {
      const { body, status } = await program.send('POST', path);
      expect(status, JSON.stringify(body)).toBe(201);
      const { link } = body as { link: string };
      recordSecrets(link);
      return link.split('#code=')[1];
    };
    const begun = await beginSession({ code: await makeCode() });
    const headers = { Cookie: String(begun.headers['set-cookie']).split(';')[0] ?? '' };
    const read = async () => (await sendToPortal(url(), 'GET', '/customer', undefined, headers)).status;
    expect(await read()).toBe(200);
    const unused = await makeCode();
    expect((await operator.send('DELETE', `/api/tokens/${program.id}`)).status).toBe(200);
    expect((await beginSession({ code: unused })).json).toMatchObject({ code: 'invalid_code' });
    expect(await read()).toBe(401);
  });

  test('shows plan, windows, use and failed requests of the customer', async () => {
    const { key, id, customerId, portal } = await newCustomer('Shown');
    expect((await pets(key)).status).toBe(200);
    const requestId = String((await pets(key, '/nowhere')).headers['x-request-id']);
    await recordUse(started.redis, customerId, 1, 5);
    expect(await portal.send('GET', '/customer')).toMatchObject({
      status: 200,
      json: {
        id: customerId,
        name: 'Shown',
        plan: 'free',
        state: 'active',
        windows: { minute: { used: 2, limit: 60, remaining: 58 }, day: { used: 2, limit: 1000 } },
      },
    });
    expect(await portal.send('GET', '/usage?days=3')).toMatchObject({
      json: { days: [{ served: 0 }, { served: 5 }, { served: 2, plan: 'free' }] },
    });
    const failed = {
      requestId,
      code: 'not_found',
      status: 404,
      method: 'GET',
      route: 'unmatched',
      keyId: id,
    };
    const read = (path: string) => async () => (await portal.send('GET', path)).json;
    await expect.poll(read('/failures'), reported).toMatchObject({ items: [failed], next: null });
    const used = { id, name: 'Shown', state: 'active', servedToday: 2 };
    await expect.poll(read('/keys'), reported).toMatchObject({ items: [used], next: null });
    const [shown] = ((await read('/keys')()) as { items: Key[] }).items;
    expect(Date.parse(shown?.lastUsedAt ?? '')).toBeGreaterThan(Date.now() - 60_000);
    // All that a customer sees of a key: a field that it does not need, such as a note of operators, is none of them.
    expect(Object.keys(shown ?? {}).toSorted()).toEqual(
      (
        'bannedUntil createdAt expiresAt hint id lastUsedAt name refusedToday replacedBy replaces ' +
        'revokedAt scopes servedToday state'
      ).split(' '),
    );
  });

  test('names the error of a service by a code that it describes', async () => {
    const { key, portal } = await newCustomer('Failing');
    const { upstream } = started;
    try {
      for (const code of ['pet_not_found', 'any_other']) {
        upstream.response = (_req, res) => {
          const error = JSON.stringify({ code, message: 'There is no such pet.', status: 404 });
          const headers = { 'content-type': 'application/json', 'content-length': error.length };
          res.writeHead(404, headers).end(error);
        };
        expect((await pets(key, '/pets/7')).status).toBe(404);
      }
    } finally {
      upstream.response = respondWithPets;
    }
    const codes = async () => {
      const { items } = (await portal.send('GET', '/failures')).json as { items: { code: string | null }[] };
      return items.map(({ code }) => String(code)).toSorted();
    };
    await expect.poll(codes, reported).toEqual(['null', 'pet_not_found']);
  });

  test('creates, rotates and revokes keys in the name of the customer', async () => {
    const { customerId, portal } = await newCustomer('Busy');
    const scopes = ['pets-service:read'];
    const made = await create(portal, { name: 'Reader', expiresAt: '2099-01-01', scopes });
    expect((await pets(made.key)).status).toBe(200);
    const rotated = (await portal.send('POST', `/keys/${made.id}/rotate`, { graceSeconds: 3600 }))
      .json as Key;
    recordSecrets(rotated.key);
    expect(rotated).toMatchObject({ name: 'Reader', replaces: made.id, scopes });
    expect([(await pets(made.key)).status, (await pets(rotated.key)).status]).toEqual([200, 200]);
    const { items } = (await portal.send('GET', '/keys')).json as { items: Key[] };
    expect(items.find(({ id }) => id === made.id)).toMatchObject({ replacedBy: rotated.id });
    expect(await portal.send('POST', `/keys/${made.id}/revoke`)).toMatchObject({
      status: 200,
      json: { state: 'revoked', warnings: [] },
    });
    expect([(await pets(made.key)).status, (await pets(rotated.key)).status]).toEqual([401, 200]);
    const { body } = await operator.send('GET', `/api/audit?who=portal:${customerId}`);
    expect((body as { items: { action: string }[] }).items.map(({ action }) => action)).toEqual([
      'keys.revoke',
      'keys.rotate',
      'keys.issue',
      'keys.issue',
      'portal.sign_in',
    ]);
  });

  test('a ban is carried over by a rotation, and no key is made while one by an operator holds', async () => {
    const { id, portal } = await newCustomer('Banned');
    const ban = (of: string) =>
      operator.send('PUT', `/api/keys/${of}/ban`, { seconds: 600, reason: 'flood from a loop' });
    expect((await ban(id)).status).toBe(200);
    const rotated = await portal.send('POST', `/keys/${id}/rotate`, { graceSeconds: 0 });
    expect(rotated).toMatchObject({ status: 201, json: { state: 'banned', replaces: id } });
    const { id: newId, key } = rotated.json as Key;
    recordSecrets(key);
    expect(await pets(key)).toMatchObject({ status: 429, json: { code: 'api_key_banned' } });
    const { body } = await operator.send('GET', '/api/bans');
    expect((body as { items: object[] }).items).toContainEqual(
      expect.objectContaining({ id: newId, reason: 'flood from a loop' }),
    );
    const refused = { status: 422, json: { message: expect.stringContaining('banned one of your keys') } };
    expect(await portal.send('POST', `/keys/${newId}/rotate`, { graceSeconds: 1 })).toMatchObject(refused);
    expect(await portal.send('POST', '/keys', { name: 'Instead' })).toMatchObject(refused);
    expect((await portal.send('POST', `/keys/${newId}/revoke`)).status).toBe(200);
    expect(await portal.send('POST', '/keys', { name: 'Instead' })).toMatchObject(refused);
    for (const banned of [id, newId]) await operator.send('DELETE', `/api/keys/${banned}/ban`);
    // One by a gateway ends soon, and is the key's alone.
    const made = await create(portal);
    const place = await placeOfKey(started.redis, made.key);
    await started.redis.set(redisKeys.ban(place), '1', 'PX', 60_000);
    await create(portal, { name: 'Another' });
  });

  test('makes no key with more scopes than the customer has', async () => {
    const { portal, ...first } = await newCustomer('Narrow');
    const [read, write] = ['pets-service:read', 'pets-service:write'];
    expect(await create(portal, { name: 'All' })).toMatchObject({ scopes: null });
    const { items } = (await portal.send('GET', '/keys')).json as { items: Key[] };
    const { rev } = (await operator.send('GET', `/api/keys/${first.id}`)).body as { rev: number };
    const change = { rev, scopes: [read] };
    expect((await operator.send('PATCH', `/api/keys/${first.id}`, change)).status).toBe(200);
    const other = items.find(({ id }) => id !== first.id);
    expect((await operator.send('POST', `/api/keys/${other?.id}/revoke`)).status).toBe(200);
    const narrow = await create(portal, { name: 'Narrow' });
    expect(narrow).toMatchObject({ scopes: [read] });
    for (const scopes of [[write], [read, write]]) {
      const refused = await portal.send('POST', '/keys', { name: 'Wide', scopes });
      expect(refused).toMatchObject({ status: 422, json: { code: 'invalid_operation' } });
      expect(refused.text).toContain(`No key of yours has the scope ${write}:`);
    }
    // To revoke them all widens nothing.
    for (const { id } of [narrow, first]) await portal.send('POST', `/keys/${id}/revoke`);
    expect(await create(portal, { name: 'After a leak' })).toMatchObject({ scopes: [read] });
  });

  test('refuses bad input with a reason, and changes nothing', async () => {
    const { id, customerId, portal } = await newCustomer('Careless');
    const before = await slotOf(customerId);
    const bodies: [path: string, body: unknown, status: number][] = [
      ['/keys', { name: '' }, 400],
      ['/keys', {}, 400],
      ['/keys', { name: 'x', plan: 'business' }, 400],
      ['/keys', { name: 'x', minute: 5 }, 400],
      ['/keys', { name: 'x', expiresAt: '2001-01-01' }, 422],
      ['/keys', { name: 'x', scopes: ['boats:read'] }, 422],
      [`/keys/${id}/rotate`, {}, 400],
      [`/keys/${id}/rotate`, { graceSeconds: -1 }, 400],
      ['/keys', 'no object', 400],
    ];
    for (const [path, body, status] of bodies) {
      const response = await portal.send('POST', path, body);
      expect(response.status, `${path} ${JSON.stringify(body)} ${response.text}`).toBe(status);
      expect(response.json).toMatchObject({ status, message: expect.stringMatching(/\w/) });
    }
    expect((await portal.send('GET', '/usage?days=0')).status).toBe(400);
    const notCompressed = { 'Content-Encoding': 'gzip' };
    for (const response of [
      await portal.send('POST', '/keys', { name: 'x' }, notCompressed),
      await sendToPortal(url(), 'POST', '/session', { code: 'x' }, notCompressed),
    ]) {
      expect(response).toMatchObject({ status: 400, json: { code: 'bad_request' } });
    }
    expect(await slotOf(customerId)).toEqual(before);
  });

  test('is closed without a session, another Origin, the CSRF token or JSON', async () => {
    const { portal } = await newCustomer('Guarded');
    for (const { method, path } of portalRoutes) {
      const response = await sendToPortal(url(), method.toUpperCase(), filled(path, 'key_x'), {});
      expect([response.status, (response.json as { code: string }).code], path).toEqual([401, 'no_session']);
    }
    const body = { name: 'Forged' };
    const forged = async (headers: Record<string, string>) =>
      (await portal.send('POST', '/keys', body, headers)).json;
    expect(await forged({ Origin: 'https://evil.example' })).toMatchObject({ code: 'forbidden_origin' });
    expect(await forged({ 'Sec-Fetch-Site': 'cross-site' })).toMatchObject({ code: 'forbidden_origin' });
    expect(await forged({ 'X-CSRF-Token': 'guess' })).toMatchObject({ code: 'invalid_csrf_token' });
    expect(await forged({ 'Content-Type': 'text/plain' })).toMatchObject({ code: 'bad_request' });
    expect((await portal.send('GET', '/keys')).json).toMatchObject({ items: [{}] });
    // The console and the portal are two.
    expect(await portal.send('GET', '/customer', undefined, { Cookie: operator.cookie })).toMatchObject({
      status: 401,
    });
  });

  test('of several sessions in one request, none counts', async () => {
    const [one, other] = [await newCustomer('One'), await newCustomer('Other')];
    const Cookie = `${one.portal.cookie}; ${other.portal.cookie}`;
    expect((await one.portal.send('GET', '/customer', undefined, { Cookie })).status).toBe(401);
    const stale = `${one.portal.cookie.split('=')[0]}=${'x'.repeat(43)}`;
    const both = { Cookie: `${stale}; ${one.portal.cookie}` };
    expect((await one.portal.send('GET', '/customer', undefined, both)).status).toBe(200);
  });

  test('with https only a cookie counts that no other host of the domain can set', async () => {
    const { customerId } = await started.issue({ name: 'Safe' });
    const origin = 'https://api.example.com';
    await using gateway = await startGateway({ ...started.env, PUBLIC_URL: origin });
    const code = await portalCode(started.redis, customerId);
    const begun = await beginSession({ code }, { Origin: origin }, gateway.url);
    const cookie = String(begun.headers['set-cookie']);
    expect(cookie).toMatch(
      /^__Host-portal-session=[\w-]{43}; Max-Age=3600; Path=\/; Expires=[^;]+; HttpOnly; Secure; SameSite=Strict$/,
    );
    const read = async (Cookie: string) =>
      (await sendToPortal(gateway.url, 'GET', '/customer', undefined, { Cookie })).status;
    const [value = ''] = cookie.split(';');
    expect(await read(value)).toBe(200);
    expect(await read(value.replace('__Host-', '__Secure-'))).toBe(401);
  });

  test('a link does not replace the session of another customer unasked', async () => {
    const [own, other] = [await newCustomer('Own account'), await newCustomer('Foreign account')];
    const code = await portalCode(started.redis, other.customerId);
    const headers = { Cookie: own.portal.cookie };
    const refused = await beginSession({ code }, headers);
    expect(refused).toMatchObject({
      status: 409,
      json: { message: 'You are signed in for Own account, and the link is for Foreign account.' },
    });
    expect(refused.headers['set-cookie']).toBeUndefined();
    expect((await own.portal.send('GET', '/customer')).json).toMatchObject({ id: own.customerId });
    const replaced = await beginSession({ code, replace: true }, headers);
    expect(replaced).toMatchObject({ status: 200, json: { customerId: other.customerId } });
    expect((await own.portal.send('GET', '/customer')).status).toBe(401);
  });

  test('ends a session, and that of a customer who was removed', async () => {
    const { id, customerId, portal } = await newCustomer('Leaving');
    const second = await enter(customerId);
    expect((await portal.send('DELETE', '/session')).status).toBe(204);
    expect((await portal.send('GET', '/customer')).status).toBe(401);
    expect((await second.send('GET', '/customer')).status).toBe(200);
    await operator.send('POST', `/api/keys/${id}/revoke`);
    await operator.send('DELETE', `/api/customers/${customerId}`);
    for (const path of ['/session', '/customer', '/keys', '/usage', '/failures']) {
      expect((await second.send('GET', path)).json, path).toMatchObject({ code: 'no_session' });
    }
    expect((await second.send('POST', '/keys', { name: 'x' })).json).toMatchObject({ code: 'no_session' });
  });

  test('a suspended customer sees everything, and changes nothing', async () => {
    const { id, customerId, portal } = await newCustomer('Suspended');
    await operator.send('POST', `/api/customers/${customerId}/suspend`);
    expect((await portal.send('GET', '/customer')).json).toMatchObject({ state: 'suspended' });
    expect((await portal.send('GET', '/keys')).json).toMatchObject({ items: [{ id, state: 'suspended' }] });
    const changes = [
      portal.send('POST', '/keys', { name: 'x' }),
      portal.send('POST', `/keys/${id}/rotate`, { graceSeconds: 0 }),
      portal.send('POST', `/keys/${id}/revoke`),
    ];
    for (const response of await Promise.all(changes)) {
      expect(response).toMatchObject({ status: 422, json: { code: 'invalid_operation' } });
      expect(response.text).toContain('suspended');
    }
    expect((await portal.send('GET', '/keys')).json).toMatchObject({ items: [{ id, state: 'suspended' }] });
  });

  test('makes fifty keys that work, and no more', async () => {
    const { customerId } = await started.issue({ name: 'Collector' });
    const createKey = portalOperations.find(({ operationId }) => operationId === 'createKey');
    // Without the checks of the API.
    const make = async (name: string) => {
      const context = { customer: customerId } as OperationContext;
      const run = createKey?.prepare({ target: '', input: { name }, context });
      recordSecrets(JSON.stringify((await run?.(sessionOf(started.redis)))?.result));
    };
    for (let index = 1; index < 49; index += 1) await make(`${index}`);
    const made = await Promise.allSettled(['a', 'b', 'c', 'd'].map(make));
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const portal = await enter(customerId);
    const refused = await portal.send('POST', '/keys', { name: 'One too many' });
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('revoke one that you do not need');
    const { items } = (await portal.send('GET', '/keys')).json as { items: Key[] };
    expect(items).toHaveLength(50);
    // To rotate is possible all the same.
    const rotated = await portal.send('POST', `/keys/${items[0]?.id}/rotate`, { graceSeconds: 0 });
    expect(rotated.status).toBe(201);
    recordSecrets(rotated.text);
  });

  test('requests of a customer are limited', async () => {
    const { id, portal } = await newCustomer('Eager');
    const rotate = () => portal.send('POST', '/keys/key_none/rotate', { graceSeconds: 0 });
    const changes = await Promise.all(Array.from({ length: 31 }, rotate));
    expect(new Set(changes.map(({ status }) => status))).toEqual(new Set([404, 429]));
    const refused = await rotate();
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await portal.send('GET', '/keys')).status).toBe(200);
    // A key that leaks, and a browser that somebody else gets, must not wait.
    expect((await portal.send('POST', `/keys/${id}/revoke`)).status).toBe(200);
    expect((await portal.send('DELETE', '/session')).status).toBe(204);
  });

  describe('with the ids of another customer', () => {
    const ofOther = () => slotOf(other.customerId);
    const secrets = () => [other.customerId, other.keyHash, 'Secret Rival', 'Rival key'];

    const own = shared(() => newCustomer('Own'));
    const other = shared(() => newCustomer('Secret Rival'));
    beforeAll(async () => {
      await create(other.portal, { name: 'Rival key' });
      await vi.waitFor(async () => expect((await pets(other.key)).status).toBe(200), reported);
      // Nothing of it changes any more.
      const isReported = async () => (await started.redis.exists(redisKeys.keyUse(other))) === 1;
      await vi.waitUntil(isReported, reported);
    });

    const inputs: Readonly<Record<string, object>> = {
      '/keys': { name: 'x' },
      '/keys/:id/rotate': { graceSeconds: 0 },
    };
    const call = ({ method, path }: (typeof portalRoutes)[number], id: string) => {
      const body = method === 'get' ? undefined : (inputs[path] ?? {});
      return own.portal.send(method.toUpperCase(), filled(path, id), body);
    };

    test.each(portalRoutes)(
      '$method $path shows nothing, changes nothing and does not tell it from none',
      async (route) => {
        const before = await ofOther();
        const { status, text } = await call(route, other.id);
        recordSecrets(text);
        expect(status, text).toBeOneOf(route.path.includes(':') ? [404] : [200, 201]);
        for (const secret of secrets()) expect(text).not.toContain(secret);
        const unknown = await call(route, 'key_0');
        recordSecrets(unknown.text);
        expect(unknown.status).toBe(status);
        expect(status === 404 ? text.replaceAll(other.id, 'key_0') : unknown.text).toBe(unknown.text);
        expect(await ofOther()).toEqual(before);
      },
    );
  });

  test('an address that guesses codes gets 429', async () => {
    const { customerId } = await started.issue({ name: 'Guessed' });
    const code = await portalCode(started.redis, customerId);
    await started.redis.hset(redisKeys.plan('anonymous'), 'minute', 3);
    try {
      const guess = async () => (await beginSession({ code: 'x'.repeat(22) })).status;
      await expect.poll(guess).toBe(429);
      expect((await beginSession({ code })).status).toBe(200);
    } finally {
      await started.redis.hset(redisKeys.plan('anonymous'), 'minute', 60);
    }
  });
});
