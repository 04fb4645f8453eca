import { describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { startConsoleApi } from '../support/kits/console-api-kit.ts';
import { shared } from '../support/kits/shared.ts';

type Fields = Record<string, unknown>;

describe('the API of plans', () => {
  const started = shared(startConsoleApi);
  const ada = shared(() => started.signIn({ name: 'Ada' }));
  const grace = shared(() => started.signIn({ name: 'Grace' }));

  const stored = (plan: string) => started.redis.hgetall(redisKeys.plan(plan));
  const get = async (path: string) => (await ada.send('GET', path)).body as Fields;
  const conflict: unknown = expect.objectContaining({ code: 'conflict', status: 409 });
  const invalid = (message: string): unknown =>
    expect.objectContaining({
      code: 'invalid_operation',
      status: 422,
      message: expect.stringContaining(message),
    });

  /** The limit that a client is told of. */
  const limitOf = async (key: string) => (await started.pets(key)).header('X-RateLimit-Limit');

  async function create(name: string, minute = 10, day = 100): Promise<void> {
    const limits = { minute, day, create: true, expected: {} };
    expect((await ada.send('PATCH', `/api/plans/${name}`, limits)).status).toBe(200);
  }

  test('shows limits stored and enforced, keys on each plan, and traffic', async () => {
    await create('shown');
    await started.issue({ plan: 'shown' });
    await expect
      .poll(async () => (await get('/api/plans/shown'))['customers'], { timeout: 40_000, interval: 500 })
      .toBe(1);
    const { items } = await get('/api/plans');
    expect(items).toContainEqual(
      expect.objectContaining({
        name: 'free',
        kind: 'plan',
        minute: 60,
        day: 1000,
        gateways: 1,
        running: 1,
        issues: [],
      }),
    );
    expect(items).toContainEqual(
      expect.objectContaining({ name: 'enterprise', kind: 'own_limits', issues: [] }),
    );
    expect(items).toContainEqual(
      expect.objectContaining({ name: 'anonymous', kind: 'address', minute: 60, customers: null }),
    );
  });

  test('a change is stored, audited under the name of the person, and in force for the next requests', async () => {
    await create('changed', 50, 500);
    const { key } = await started.issue({ plan: 'changed' });
    expect(await limitOf(key)).toBe('50');
    const { status, body } = await grace.send('PATCH', '/api/plans/changed', {
      minute: 7,
      day: 700,
      expected: { minute: 50, day: 500 },
    });
    expect({ status, body }).toEqual({
      status: 200,
      body: { name: 'changed', minute: 7, day: 700, before: { minute: 50, day: 500 }, warnings: [] },
    });
    expect(await stored('changed')).toEqual({ minute: '7', day: '700' });
    expect(await started.lastChange()).toMatchObject({
      who: 'Grace',
      action: 'plans.set',
      target: 'changed',
    });
    await expect.poll(() => limitOf(key), { timeout: 3000 }).toBe('7');
  });

  test('one that was deleted in Redis is a problem before a request on it fails', async () => {
    await create('tiny');
    await started.redis.del(redisKeys.plan('tiny'));
    const problems = async () => JSON.stringify((await get('/api/live'))['problems']);
    await expect.poll(problems, { timeout: 5000 }).toContain('The setting gw:plan:tiny in Redis is invalid');
  });

  test('a change by somebody who has seen other limits is refused', async () => {
    await create('raced');
    const expected = { minute: 10, day: 100 };
    const results = await Promise.all(
      [ada, grace].map((person, index) =>
        person.send('PATCH', '/api/plans/raced', { minute: 20 + index, day: 200, expected }),
      ),
    );
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set([200, 409]));
    const { body } = await ada.send('PATCH', '/api/plans/raced', { minute: 5, day: 50, expected });
    expect(body).toEqual(conflict);
    expect(body).toMatchObject({
      message: expect.stringMatching(/now it is 2[01] a minute, 200 a day/) as unknown,
    });
  });

  test('a plan may have a limit of one window alone, and of any other one in its place', async () => {
    const made = await ada.send('PATCH', '/api/plans/hourly', { hour: 100, create: true, expected: {} });
    expect(made).toMatchObject({ status: 200, body: { name: 'hourly', hour: 100, before: null } });
    expect(await stored('hourly')).toEqual({ hour: '100' });
    const plan = await get('/api/plans/hourly');
    expect(plan).toMatchObject({ hour: 100, issues: [] });
    expect(['minute', 'day', 'month'].filter((name) => Object.hasOwn(plan, name))).toEqual([]);
    const monthly = { hour: null, month: 900, expected: { hour: 100, minute: null } };
    expect((await ada.send('PATCH', '/api/plans/hourly', monthly)).body).toEqual({
      name: 'hourly',
      month: 900,
      before: { hour: 100 },
      warnings: [],
    });
    expect(await stored('hourly')).toEqual({ month: '900' });
  });

  const limits = { minute: 5, day: 9 };
  const made = { ...limits, create: true, expected: {} };
  const seen = { ...limits, expected: { minute: 1, day: 1 } };

  test.each([
    ['a limit of 0', 'free', { minute: 0, expected: {} }, 400, 'minute'],
    ['no minute limit of a built-in plan', 'free', { minute: null, expected: {} }, 422, 'minute limit'],
    ['a plan without limits', 'unlimited', { create: true, expected: {} }, 422, 'nothing to set'],
    ['a shadow limit alone', 'unlimited', { shadowDay: 5, create: true, expected: {} }, 422, 'needs a limit'],
    ['an unknown field', 'free', { ...limits, eon: 1, expected: {} }, 400, 'eon'],
    ['a missing plan', 'fre', seen, 404, 'no plan'],
    ['enterprise', 'enterprise', seen, 422, 'own limits'],
    ['anonymous', 'anonymous', seen, 422, 'address'],
    ['a name that is none', 'Gold', made, 422, 'lower-case'],
    ['a plan that exists', 'free', { ...made, expected: { minute: null } }, 409, 'exists already'],
    ['to remove a built-in plan', 'pro', 'DELETE', 422, "can't be removed"],
    ['to read a missing plan', 'fre', 'GET', 404, 'no plan'],
  ])('refuses %s, says why, and changes nothing', async (_what, path, change, status, message) => {
    const [method, body] = typeof change === 'string' ? [change] : ['PATCH', change];
    const before = await Promise.all(['free', 'pro', 'enterprise', 'anonymous'].map(stored));
    const entries = await started.redis.xlen(redisKeys.audit);
    const response = await ada.send(method, `/api/plans/${path}`, body);
    expect(response.status).toBe(status);
    expect(String((response.body as Fields)['message']).toLowerCase()).toContain(message);
    expect(await Promise.all(['free', 'pro', 'enterprise', 'anonymous'].map(stored))).toEqual(before);
    expect(await started.redis.xlen(redisKeys.audit)).toBe(entries);
  });

  test('a plan is removed once no customer is on it', async () => {
    await create('short-lived');
    const { customerId } = await started.issue({ plan: 'short-lived' });
    const refused = await ada.send('DELETE', '/api/plans/short-lived');
    expect(refused.body).toEqual(invalid('1 customer is on short-lived: move them to another plan first'));
    expect((refused.body as Fields)['message']).not.toContain('ops ');
    await started.redis.hset(redisKeys.customer(customerId), 'plan', 'free');
    expect((await ada.send('DELETE', '/api/plans/short-lived')).status).toBe(200);
    expect(await stored('short-lived')).toEqual({});
    expect(await started.lastChange()).toMatchObject({
      who: 'Ada',
      action: 'plans.remove',
      target: 'short-lived',
    });
  });

  test('the busiest customers above other limits are named before these are set', async () => {
    await create('tried', 50, 500);
    const { issue } = started;
    const [busy, own, calm] = [
      await issue({ plan: 'tried', name: 'Busy GmbH' }),
      await issue({ plan: 'tried', minute: 30, day: 300 }),
      await issue({ plan: 'tried', name: 'Calm AG' }),
    ];
    for (const { key } of [busy, busy, busy, own, own, own, calm]) await limitOf(key);
    const preview = async (limits: object) =>
      (await ada.send('POST', '/api/plans/tried/preview', limits)).body as { above: object[] };
    // Gateways report every two seconds how busy customers are.
    await expect
      .poll(() => preview({ minute: 1, day: 500 }), { timeout: 10_000 })
      .toMatchObject({ above: [{ id: busy.customerId }, { id: calm.customerId }] });
    const above = { id: busy.customerId, name: 'Busy GmbH', used: 3 };
    expect(await preview({ minute: 3, day: 400 })).toEqual({
      above: [{ ...above, window: 'minute', limit: 3 }],
    });
    expect(await preview({ minute: 4, day: 2 })).toEqual({ above: [{ ...above, window: 'day', limit: 2 }] });
    expect(await preview({ minute: 4, day: 400 })).toEqual({ above: [] });
    expect((await ada.send('POST', '/api/plans/free/preview', { minute: 1, day: 1 })).body).toEqual({
      above: [],
    });
    expect(await stored('tried')).toEqual({ minute: '50', day: '500' });
  });
});
