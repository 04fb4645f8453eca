import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { readAudit } from '../../gateway/control/audit/audit-log.ts';
import type { KeyView } from '../../gateway/control/keys/key-view.ts';
import { byKind, keyFields } from '../../gateway/limits/record-fields.ts';
import { forAll } from '../../gateway/limits/windows.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { startConsoleApi } from '../support/kits/console-api-kit.ts';
import type { IssuedKey } from '../support/kits/keys.ts';
import { shared } from '../support/kits/shared.ts';

interface ApiBody {
  status: number;
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
}

const who = 'Anna';

describe('the API of keys', () => {
  const started = shared(startConsoleApi);
  const operator = shared(() => started.signIn({ name: who }));
  const viewer = shared(() => started.signIn({ role: 'viewer' }));

  async function api(method: string, path: string, body?: object, as = operator): Promise<ApiBody> {
    const response = await as.send(method, `/api${path}`, method === 'POST' ? (body ?? {}) : body);
    return { status: response.status, body: response.body };
  }

  /** What the records of a customer and of its key have. */
  const record = async (key: IssuedKey) => ({
    ...(await started.redis.hgetall(redisKeys.customer(key.customerId))),
    ...(await started.redis.hgetall(redisKeys.apiKey(key))),
  });

  async function use(key: IssuedKey, count: number): Promise<void> {
    for (let sent = 0; sent < count; sent += 1) await started.pets(key.key);
  }

  test('keep each field that operators give: at issue, change, rotation, for a further key', async () => {
    const fields = (text: string, year: number, scope: string) => ({
      name: text,
      ...byKind(keyFields, {
        text: () => text,
        time: () => `${year}-01-01T00:00:00.000Z`,
        scopes: () => [`pets-service:${scope}`],
      }),
    });
    const given = { plan: 'enterprise', ...fields('Given', 2099, 'read') };
    const limits = forAll(() => 10);
    const made = await api('POST', '/keys', { ...given, ...limits });
    expect(made).toMatchObject({ status: 201, body: given });
    const { id, customerId, rev } = made.body as KeyView;
    expect((await api('GET', `/keys/${id}`)).body).toMatchObject(given);
    expect((await api('GET', `/customers/${customerId}`)).body).toMatchObject(limits);
    const changed = fields('Changed', 2098, 'write');
    const after = await api('PATCH', `/keys/${id}`, { rev, ...changed });
    expect(after).toMatchObject({ status: 200, body: changed });
    expect((await api('GET', '/keys?search=changed')).body).toMatchObject({ items: [{ id }] });
    const rotated = await api('POST', `/keys/${id}/rotate`, { graceSeconds: 3600 });
    expect(rotated).toMatchObject({ status: 201, body: { ...changed, replaces: id } });
    const further = fields('Further', 2099, 'read');
    expect(await api('POST', `/customers/${customerId}/keys`, further)).toMatchObject({
      status: 201,
      body: further,
    });
  });

  test('a key is issued, shown in this response only, and serves', async () => {
    const { status, body } = await api('POST', '/keys', {
      name: ' Acme ',
      plan: 'pro',
      minute: 7,
      expiresAt: '2099-01-01',
    });
    expect([status, body.name, body.plan, body.warnings]).toEqual([201, 'Acme', 'pro', []]);
    expect((await started.pets(body.key)).status).toBe(200);
    expect(await started.lastChange()).toMatchObject({ who, action: 'keys.issue', target: body.id });
    const read = await api('GET', `/keys/${body.id}`);
    expect(read.body).toMatchObject({
      expiresAt: '2099-01-01T00:00:00.000Z',
      windows: {
        minute: { used: 1, limit: 7, remaining: 6 },
        day: { used: 1, limit: 10_000, remaining: 9999 },
      },
    });
    expect(JSON.stringify(read.body)).not.toContain(body.key);
    expect(JSON.stringify(await readAudit(started.redis, 10))).not.toContain(body.key);
    expect(started.gateway.output()).not.toContain(body.key);
  });

  test.each([
    ...['', 'a\u202Eb'].map((name): [object, number, string] => [
      { name, plan: 'free' },
      400,
      'name: has to be 1 to 100 characters, without control or invisible characters',
    ]),
    [{ name: `pets_${'a'.repeat(38)}`, plan: 'free' }, 400, 'name: must not contain an API key'],
    [{ name: 'x', plan: 'free', minute: 0 }, 400, 'minute: has to be a whole number from 1 to 1000000000'],
    [
      { name: 'x', plan: 'fre' },
      422,
      'There is no plan named "fre"; the plans are business, enterprise, free, pro',
    ],
    [{ name: 'x', plan: 'enterprise' }, 422, 'An enterprise customer needs a limit of its own'],
    [{ name: 'x', plan: 'free', expiresAt: '2020-01-01' }, 422, 'The expiry is in the past'],
  ])('a key that cannot be issued is refused and nothing is stored: %j', async (wanted, status, message) => {
    const keys = await started.redis.hlen(redisKeys.apiKeyIds);
    const refused = await api('POST', '/keys', wanted);
    expect([refused.status, refused.body.message]).toEqual([status, expect.stringContaining(message)]);
    expect(await started.redis.hlen(redisKeys.apiKeyIds)).toBe(keys);
  });

  test('a pasted key is found, also in a text, by its SHA-256, and if its record is invalid', async () => {
    const key = await started.issue();
    for (const text of [key.key, `"Authorization: Bearer ${key.key}",`, redisKeys.apiKey(key)]) {
      expect(await api('POST', '/keys/find', { text }, viewer)).toEqual({
        status: 200,
        body: { id: key.id },
      });
    }
    await started.redis.hdel(redisKeys.customer(key.customerId), 'plan');
    expect((await api('POST', '/keys/find', { text: key.key })).body).toEqual({ id: key.id });
    await started.redis.hset(redisKeys.customer(key.customerId), 'plan', 'free');
    const mistyped = `${key.key.slice(0, -1)}${key.key.endsWith('x') ? 'y' : 'x'}`;
    const refused = await api('POST', '/keys/find', { text: mistyped });
    expect(refused.body).toMatchObject({ code: 'invalid_operation', status: 422 });
    expect(refused.body.message).not.toContain(mistyped);
    expect(
      (await api('POST', '/keys/find', { text: `${key.key} ${(await started.issue()).key}` })).body.message,
    ).toBe('The text contains 2 API keys: give one');
  });

  test('a key over its limit has nothing remaining, and takes neither limit nor plan', async () => {
    const key = await started.issue({ minute: 2 });
    await use(key, 3);
    const { body } = await api('GET', `/keys/${key.id}`);
    expect(body.windows.minute).toMatchObject({ used: 2, limit: 2, remaining: 0 });
    expect((await started.pets(key.key)).status).toBe(429);
    for (const limit of [{ minute: 5 }, { plan: 'pro' }]) {
      const refused = await api('PATCH', `/keys/${key.id}`, { rev: body.rev, ...limit });
      expect([refused.status, refused.body.message]).toEqual([
        400,
        expect.stringContaining('Unrecognized key'),
      ]);
    }
    expect(await record(key)).toMatchObject({ minute: '2', plan: 'free' });
  });

  test('of two operators who edit a key at once, the second one is told to read it again', async () => {
    const key = await started.issue({ name: 'Twice' });
    const { rev } = (await api('GET', `/keys/${key.id}`)).body;
    const changes = await Promise.all([
      api('PATCH', `/keys/${key.id}`, { rev, name: 'First' }),
      api('PATCH', `/keys/${key.id}`, { rev, name: 'Second' }),
    ]);
    const [winner, loser] = changes.toSorted((one, other) => one.status - other.status);
    expect([winner?.status, loser?.status, loser?.body.code]).toEqual([200, 409, 'conflict']);
    const { name } = winner?.body ?? {};
    expect(loser?.body.message).toBe(
      `Somebody else has changed the customer or one of its keys since it was read: read ${key.id} again (revision ${winner?.body.rev})`,
    );
    expect(await started.lastChange()).toMatchObject({
      who,
      action: 'keys.set',
      target: key.id,
      after: { name },
    });
    expect((await record(key))['name']).toBe(name);
  });

  test('a ban holds from the next request on, says why and until when, and is lifted', async () => {
    const key = await started.issue();
    const banned = await api('PUT', `/keys/${key.id}/ban`, { seconds: 600, reason: 'unpaid invoice' });
    expect(banned.body).toMatchObject({ state: 'banned', ban: { reason: 'unpaid invoice' } });
    const { ban, now } = banned.body;
    // The clocks of Redis and of the gateway are read one after the other.
    expect((Date.parse(ban.endsAt) - Date.parse(now)) / 1000).toBeCloseTo(600, -1);
    const refused = await started.pets(key.key);
    expect([refused.status, refused.text]).toEqual([429, expect.stringContaining('unpaid invoice')]);
    expect(await started.lastChange()).toMatchObject({ who, action: 'bans.add', target: key.id });
    expect((await api('DELETE', `/keys/${key.id}/ban`)).body).toMatchObject({ state: 'active', ban: null });
    await expect.poll(async () => (await started.pets(key.key)).status).toBe(200);
    expect(await started.lastChange()).toMatchObject({ who, action: 'bans.lift', target: key.id });
    expect(await api('DELETE', `/keys/${key.id}/ban`)).toMatchObject({
      status: 422,
      body: { message: `The key ${key.id} is not banned` },
    });
    await started.redis.set(redisKeys.ban(key), '2', 'PX', 60_000);
    const ofGateway = 'kept sending requests when refused (consecutive ban 2)';
    expect((await api('GET', `/keys/${key.id}`)).body).toMatchObject({ ban: { reason: ofGateway } });
  });

  test.each([
    [{ seconds: 60 }, 400],
    [{ seconds: 60, reason: '42' }, 400],
    [{ reason: 'no length' }, 400],
    [{ seconds: 1e9, reason: 'too long' }, 400],
  ])('an invalid ban changes nothing: %j', async (ban, status) => {
    const key = await started.issue();
    expect((await api('PUT', `/keys/${key.id}/ban`, ban)).status).toBe(status);
    expect(await started.redis.exists(redisKeys.ban(key))).toBe(0);
  });

  test('a rotation gives a new key; both serve until the grace period ends; only one of two at once succeeds', async () => {
    const key = await started.issue({ name: 'Rotated' });
    const rotations = await Promise.all([
      api('POST', `/keys/${key.id}/rotate`, { graceSeconds: 3600 }),
      api('POST', `/keys/${key.id}/rotate`, { graceSeconds: 3600 }),
    ]);
    const [won, lost] = rotations.toSorted((one, other) => one.status - other.status);
    expect([won?.status, won?.body.replaces, lost?.status]).toEqual([201, key.id, 422]);
    expect(lost?.body.message).toMatch(/has been replaced by key_\w+ already/);
    expect((await started.pets(won?.body.key)).status).toBe(200);
    expect((await started.pets(key.key)).status).toBe(200);
    expect((await api('GET', `/keys/${key.id}`)).body).toMatchObject({ replacedBy: won?.body.id });
    const ended = await started.issue();
    // As after a description that has lost a scope.
    await started.redis.hset(redisKeys.apiKey(ended), 'scopes', 'pets-service:read legacy:read');
    expect((await api('POST', `/keys/${ended.id}/rotate`, { graceSeconds: 0 })).status).toBe(201);
    expect(await started.pets(ended.key)).toMatchObject({ status: 401, json: { code: 'expired_api_key' } });
    expect(await api('POST', `/keys/${ended.id}/rotate`, {})).toMatchObject({ status: 400 });
    // A key can be rotated again when its replacement is no longer valid. Its grace period is no expiry of the new key.
    await api('POST', `/keys/${won?.body.id}/revoke`);
    const again = await api('POST', `/keys/${key.id}/rotate`, { graceSeconds: 3600 });
    expect(again.body).toMatchObject({ replaces: key.id, expiresAt: null });
  });

  test('the plans that a key can be on', async () => {
    const { body } = await api('GET', '/key-plans', undefined, viewer);
    expect(body.items).toContainEqual({ name: 'pro', minute: 300, day: 10_000, needsOwnLimits: false });
    expect(body.items).toContainEqual({ name: 'enterprise', needsOwnLimits: true });
    expect(body.items.map(({ name }: { name: string }) => name)).not.toContain('anonymous');
  });

  test('an unknown id is 404', async () => {
    for (const path of ['/keys/key_none', '/keys/..%2Fplans', '/keys/x%2F..%2Fkey_1']) {
      expect(await api('GET', path)).toMatchObject({ status: 404, body: { code: 'not_found' } });
    }
    expect(await api('GET', '/keys/%ff')).toMatchObject({ status: 400, body: { code: 'bad_request' } });
    expect((await api('PATCH', '/keys/key_none', { rev: 1, name: 'x' })).status).toBe(404);
  });

  describe('the list', () => {
    test('the newest first, page by page, each key once, with its use', async () => {
      const listed = `listed ${randomUUID()}`;
      const keys = [];
      for (const name of ['one', 'two', 'three'])
        keys.push(await started.issue({ name: `${listed} ${name}` }));
      await use(keys[2] as IssuedKey, 2);
      const first = await api('GET', `/keys?search=${listed.toUpperCase()}&limit=2`);
      expect(first.body.items.map(({ name }: { name: string }) => name)).toEqual([
        `${listed} three`,
        `${listed} two`,
      ]);
      // Gateways tell of the use of a key some seconds later.
      const newest = async () => (await api('GET', `/keys?search=${listed}&limit=1`)).body.items[0];
      await expect
        .poll(newest, { timeout: 15_000 })
        .toMatchObject({ servedToday: 2, refusedToday: 0, lastUsedAt: expect.any(String), state: 'active' });
      const second = await api('GET', `/keys?search=${listed}&limit=2&after=${first.body.next}`);
      expect(second.body).toMatchObject({ items: [{ id: keys[0]?.id }], next: null });
      const all = [];
      for (let next = ''; ;) {
        const page = await api('GET', `/keys?limit=5${next}`);
        all.push(...page.body.items.map(({ id }: { id: string }) => id));
        if (page.body.next === null) break;
        next = `&after=${page.body.next}`;
      }
      expect(new Set(all).size).toBe(all.length);
      expect(all).toEqual(expect.arrayContaining(keys.map(({ id }) => id)));
    });

    test('by id, hint, SHA-256, plan, state, expiry and time of the last use', async () => {
      await started.redis.hset(redisKeys.plan('odd'), { minute: 5, day: 50 });
      const key = await started.issue({
        name: 'filtered',
        plan: 'odd',
        expiresAt: new Date(Date.now() + 86_400_000),
      });
      const other = await started.issue({ name: 'other', plan: 'odd' });
      const { hint } = await record(key);
      const found = async (query: string) =>
        (await api('GET', `/keys?${query}`)).body.items.map(({ id }: { id: string }) => id);
      const until = new Date(Date.now() + 2 * 86_400_000).toISOString();
      for (const query of [
        `search=${key.id}`,
        `search=${key.keyHash}`,
        `plan=odd&search=${encodeURIComponent(hint ?? '')}`,
        `plan=odd&expiresBefore=${until}`,
        'search=FILTER',
      ]) {
        expect(await found(query), query).toEqual([key.id]);
      }
      expect(await found(`plan=odd&unusedSince=${until}`)).toEqual([other.id, key.id]);
      // Neither was there to be used.
      expect(await found('plan=odd&unusedSince=2026-01-01')).toEqual([]);
      expect(await found('plan=odd&state=banned')).toEqual([]);
      await api('PUT', `/keys/${other.id}/ban`, { seconds: 60, reason: 'test' });
      expect(await found('plan=odd&state=banned')).toEqual([other.id]);
      expect(await found('plan=odd&state=active')).toEqual([other.id, key.id]);
      await api('POST', `/keys/${key.id}/revoke`);
      expect(await found('plan=odd&state=revoked')).toEqual([key.id]);
      expect((await api('GET', '/keys?state=odd')).status).toBe(400);
      expect((await api('GET', '/keys?limit=1000')).status).toBe(400);
      expect((await api('GET', '/keys?after=nonsense')).status).toBe(422);
      expect((await api('GET', '/keys?sort=name')).status).toBe(400);
      expect((await api('GET', '/keys?search=%20')).status).toBe(400);
    });
  });
});
