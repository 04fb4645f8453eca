import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readAudit } from '../../gateway/operations/audit-log.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { startConsoleApi, type ConsoleApi, type ConsoleApiKit } from '../support/kits/console-api-kit.ts';
import { dayCounterKey, recordUse } from '../support/stores/day-counter.ts';

type Fields = Record<string, unknown>;

interface Past {
  impacts: object[];
}

describe('the API of plans', () => {
  let started: ConsoleApiKit;
  let ada: ConsoleApi;
  let grace: ConsoleApi;

  beforeAll(async () => {
    started = await startConsoleApi();
    ada = await started.signIn({ name: 'Ada' });
    grace = await started.signIn({ name: 'Grace' });
  });

  afterAll(() => started[Symbol.asyncDispose]());

  const stored = (plan: string) => started.kit.redis.hgetall(redisKeys.plan(plan));
  const lastEntry = async () => (await readAudit(started.kit.redis, 1))[0];
  const get = async (path: string) => (await ada.send('GET', path)).body as Fields;
  const conflict: unknown = expect.objectContaining({ code: 'conflict', status: 409 });
  const invalid = (message: string): unknown =>
    expect.objectContaining({
      code: 'invalid_operation',
      status: 422,
      message: expect.stringContaining(message),
    });

  /** The limit that a client is told of. */
  async function limitOf(key: string): Promise<string> {
    const response = await send(`${started.kit.gateway.url}/v1/pets`, { key });
    return String(response.headers['x-ratelimit-limit']);
  }

  async function create(name: string, minute = 10, day = 100): Promise<void> {
    const { status } = await ada.send('PUT', `/api/plans/${name}`, { minute, day });
    expect(status).toBe(201);
  }

  test('shows limits stored and enforced, keys on each plan, and traffic', async () => {
    await create('shown');
    await started.kit.issue({ plan: 'shown' });
    await expect
      .poll(async () => (await get('/api/plans/shown'))['keys'], { timeout: 40_000, interval: 500 })
      .toBe(1);
    const { items, gateways } = await get('/api/plans');
    expect(gateways).toBe(1);
    expect(items).toContainEqual(
      expect.objectContaining({ name: 'free', kind: 'plan', minute: 60, day: 1000, gateways: 1, issues: [] }),
    );
    expect(items).toContainEqual(
      expect.objectContaining({ name: 'enterprise', kind: 'own_limits', minute: null }),
    );
    expect(items).toContainEqual(
      expect.objectContaining({ name: 'anonymous', kind: 'address', minute: 60, keys: null }),
    );
  });

  test('shows how many requests without a key the limit of an address refused', async () => {
    const statuses = [];
    for (let sent = 0; sent < 62; sent += 1) {
      statuses.push((await send(`${started.kit.gateway.url}/v1/pets`)).status);
    }
    expect(statuses.at(-1)).toBe(429);
    const refused = async () =>
      ((await get('/api/plans/anonymous'))['lastHour'] as { refused: number }).refused;
    await expect.poll(refused, { timeout: 20_000, interval: 500 }).toBeGreaterThan(1);
  });

  test('a change is stored, audited under the name of the person, and in force for the next requests', async () => {
    await create('changed', 50, 500);
    const { key } = await started.kit.issue({ plan: 'changed' });
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
    expect(await lastEntry()).toMatchObject({ who: 'Grace', action: 'plans.set', target: 'changed' });
    await expect.poll(() => limitOf(key), { timeout: 3000 }).toBe('7');
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

  test('a day limit below the minute limit needs a confirmation', async () => {
    await create('questioned');
    const change = { minute: 100, day: 50, expected: { minute: 10, day: 100 } };
    expect((await ada.send('PATCH', '/api/plans/questioned', change)).body).toEqual(invalid('confirm it'));
    expect(await stored('questioned')).toEqual({ minute: '10', day: '100' });
    expect((await ada.send('PATCH', '/api/plans/questioned', { ...change, confirmed: true })).status).toBe(
      200,
    );
    expect((await ada.send('PUT', '/api/plans/questioned-2', { minute: 9, day: 8 })).body).toEqual(
      invalid('confirm it'),
    );
    expect(await stored('questioned-2')).toEqual({});
  });

  test.each([
    [
      'a limit of 0',
      'PATCH',
      'free',
      { minute: 0, day: 9, expected: { minute: 60, day: 1000 } },
      400,
      'minute',
    ],
    [
      'a fraction',
      'PATCH',
      'free',
      { minute: 1.5, day: 9, expected: { minute: 60, day: 1000 } },
      400,
      'minute',
    ],
    ['a text', 'PATCH', 'free', { minute: '5', day: 9, expected: { minute: 60, day: 1000 } }, 400, 'minute'],
    ['an unknown field', 'PATCH', 'free', { minute: 5, day: 9, eon: 1, expected: {} }, 400, 'eon'],
    ['no body', 'PATCH', 'free', undefined, 400, 'expected object'],
    [
      'a missing plan',
      'PATCH',
      'fre',
      { minute: 5, day: 9, expected: { minute: 1, day: 1 } },
      404,
      'no plan',
    ],
    [
      'enterprise',
      'PATCH',
      'enterprise',
      { minute: 5, day: 9, expected: { minute: 1, day: 1 } },
      422,
      'own limits',
    ],
    [
      'anonymous',
      'PATCH',
      'anonymous',
      { minute: 5, day: 9, expected: { minute: 1, day: 1 } },
      422,
      'address',
    ],
    ['a name that is none', 'PUT', 'Gold', { minute: 5, day: 9 }, 400, 'lower-case'],
    ['a plan that exists', 'PUT', 'free', { minute: 5, day: 9 }, 409, 'exists already'],
    ['a built-in plan', 'DELETE', 'pro', undefined, 422, "can't be removed"],
    ['a missing plan', 'GET', 'fre', undefined, 404, 'no plan'],
  ])('refuses %s, says why, and changes nothing', async (_what, method, path, body, status, message) => {
    const before = await Promise.all(['free', 'pro', 'enterprise', 'anonymous'].map(stored));
    const entries = await started.kit.redis.xlen(redisKeys.audit);
    const response = await ada.send(method, `/api/plans/${path}`, body);
    expect(response.status).toBe(status);
    expect(String((response.body as Fields)['message']).toLowerCase()).toContain(message);
    expect(await Promise.all(['free', 'pro', 'enterprise', 'anonymous'].map(stored))).toEqual(before);
    expect(await started.kit.redis.xlen(redisKeys.audit)).toBe(entries);
  });

  test('a pasted API key in place of a name is not in the response', async () => {
    const { key } = await started.kit.issue();
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
      const body = method === 'GET' ? undefined : { minute: 1, day: 1, expected: { minute: 1, day: 1 } };
      const response = await ada.send(method, `/api/plans/${key}`, body);
      expect(JSON.stringify(response.body)).not.toContain(key.slice(0, 20));
    }
  });

  test('a plan is removed once no key is on it', async () => {
    await create('short-lived');
    const { customerId } = await started.kit.issue({ plan: 'short-lived' });
    const refused = await ada.send('DELETE', '/api/plans/short-lived');
    expect(refused.body).toEqual(invalid('1 valid key is on short-lived: move them to another plan first'));
    expect((refused.body as Fields)['message']).not.toContain('ops ');
    await started.kit.redis.hset(redisKeys.customer(customerId), 'plan', 'free');
    expect((await ada.send('DELETE', '/api/plans/short-lived')).status).toBe(200);
    expect(await stored('short-lived')).toEqual({});
    expect(await lastEntry()).toMatchObject({ who: 'Ada', action: 'plans.remove', target: 'short-lived' });
  });

  test('of several operators who remove a plan at once, one does, and the others are told so', async () => {
    await create('removed-once');
    const remove = (person: ConsoleApi) => person.send('DELETE', '/api/plans/removed-once');
    const statuses = (await Promise.all([ada, grace, ada, grace].map(remove))).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status >= 500)).toEqual([]);
  });

  test('the recorded days tell how many keys would have gone over a day or a month limit, and which', async () => {
    await create('recorded', 50, 5000);
    const { redis, issue } = { redis: started.kit.redis, issue: started.kit.issue };
    const [most, once, own] = [
      await issue({ plan: 'recorded', name: 'Most' }),
      await issue({ plan: 'recorded', name: 'Once' }),
      await issue({ plan: 'recorded', name: 'Own', day: 9000 }),
    ];
    await issue({ plan: 'recorded', name: 'Unused' });
    for (const [{ customerId }, daysAgo, units] of [
      [most, 3, 700],
      [most, 10, 900],
      [most, 4, 650],
      [once, 3, 651],
      [own, 12, 5000],
      // Neither today nor what is longer ago is one of the 30 days.
      [once, 0, 4000],
      [once, 31, 4000],
    ] as const) {
      await recordUse(redis, customerId, daysAgo, units);
    }
    // On a busy machine, the use is still being read when the first response is sent.
    const pastOf = async (limits: object, plan: string) =>
      ((await ada.send('POST', `/api/plans/${plan}/effect`, limits)).body as { past: Past | null }).past;
    const effectOf = async (limits: object, plan = 'recorded') => {
      await expect.poll(() => pastOf(limits, plan)).not.toBeNull();
      return (await pastOf(limits, plan))?.impacts ?? [];
    };
    expect(await effectOf({ minute: 50, day: 650 })).toEqual([
      {
        window: 'day',
        limit: 650,
        periods: 10,
        overPeriods: 2,
        keys: 2,
        most: [
          { id: most.customerId, name: 'Most', overPeriods: 2, mostUsed: 900 },
          { id: once.customerId, name: 'Once', overPeriods: 1, mostUsed: 651 },
        ],
      },
    ]);
    expect(await effectOf({ minute: 50, day: 900 })).toMatchObject([{ overPeriods: 0, keys: 0, most: [] }]);

    await create('monthly', 50, 5000);
    const { customerId } = await issue({ plan: 'monthly', name: 'Monthly' });
    const now = new Date();
    for (const [monthsAgo, fields] of [
      [0, { '01': 99_999 }],
      [1, { '02': 300, '15': 200, r02: 7 }],
      [3, { '15': 400 }],
      [14, { '15': 99_999 }],
    ] as const) {
      const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsAgo));
      const name = month.toISOString().slice(0, 7).replace('-', '');
      await redis.hset(redisKeys.usageMonth(customerId, name), fields);
    }
    const [, ofMonth] = await effectOf({ minute: 50, day: 5000, month: 450 }, 'monthly');
    expect(ofMonth).toEqual({
      window: 'month',
      limit: 450,
      periods: 3,
      overPeriods: 1,
      keys: 1,
      most: [{ id: customerId, name: 'Monthly', overPeriods: 1, mostUsed: 500 }],
    });
  });

  test('of many keys that would be refused at once, the ten that are over the most are named', async () => {
    await create('crowded', 5000, 5000);
    const { redis, issue } = started.kit;
    const ids: string[] = [];
    for (let index = 0; index < 12; index += 1) {
      const { customerId } = await issue({ plan: 'crowded', name: `Key ${index}` });
      await redis.set(dayCounterKey(customerId), 100 + index);
      ids.push(customerId);
    }
    const { body } = await ada.send('POST', '/api/plans/crowded/effect', { minute: 5000, day: 100 });
    expect(body).toMatchObject({ now: { keys: 12, over: 12, overDay: 12 } });
    expect((body as { hardestHit: { id: string }[] }).hardestHit.map(({ id }) => id)).toEqual(
      ids.toReversed().slice(0, 10),
    );
  });

  test('the effect of limits is shown before they are set', async () => {
    await create('tried', 50, 500);
    const [busy, own] = [
      await started.kit.issue({ plan: 'tried', name: 'Busy GmbH' }),
      await started.kit.issue({ plan: 'tried', minute: 3, day: 30 }),
    ];
    await started.kit.issue({ plan: 'tried' });
    for (const { key } of [busy, busy, busy, own, own, own]) await limitOf(key);
    const effect = { minute: 3, day: 400 };
    const { body } = await ada.send('POST', '/api/plans/tried/effect', effect);
    expect(body).toEqual({
      question: null,
      now: { keys: 3, overMinute: 1, overDay: 0, over: 1 },
      hardestHit: [
        { id: busy.customerId, name: 'Busy GmbH', plan: 'tried', window: 'minute', used: 3, limit: 3 },
      ],
      asOf: expect.stringMatching(/^\d{4}-.*Z$/) as unknown,
      counting: null,
      past: {
        impacts: [{ window: 'day', limit: 400, periods: 0, overPeriods: 0, keys: 0, most: [] }],
        asOf: expect.stringMatching(/^\d{4}-.*Z$/) as unknown,
        counting: null,
      },
    });
    const other = await ada.send('POST', '/api/plans/tried/effect', { minute: 4, day: 2 });
    expect(other.body).toMatchObject({
      question: expect.stringContaining('less than its minute limit') as unknown,
      now: { over: 1, overMinute: 0, overDay: 1 },
    });
    expect(await stored('tried')).toEqual({ minute: '50', day: '500' });
  });

  test('values edited by hand into nonsense are named, and can be set right', async () => {
    await create('nonsense', 11, 111);
    await started.kit.issue({ plan: 'nonsense' });
    const { redis } = started.kit;
    await redis.hset(redisKeys.plan('nonsense'), {
      minute: 'many',
      day: '0',
    });
    const plan = await get('/api/plans/nonsense');
    expect(plan).toMatchObject({ minute: null, day: null });
    expect(plan['issues']).toEqual([
      'the minute limit is "many", which is not a whole number from 1 to 1000000000',
      'the day limit is "0", which is not a whole number from 1 to 1000000000',
    ]);
    const change = { minute: 12, day: 120, expected: { minute: null, day: null } };
    expect((await ada.send('PATCH', '/api/plans/nonsense', change)).status).toBe(200);
    expect(await get('/api/plans/nonsense')).toMatchObject({ minute: 12, day: 120 });
    await redis.set(redisKeys.plan('nonsense'), 'a text');
    const broken = await get('/api/plans/nonsense');
    expect(broken).toMatchObject({ minute: null, issues: [expect.stringContaining('no longer a hash')] });
  });
});
