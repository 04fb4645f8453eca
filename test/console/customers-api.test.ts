import { describe, expect, test } from 'vitest';
import type {
  CustomerDetail,
  CustomerRow,
  CustomerView,
} from '../../gateway/control/customers/find-customers.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { startConsoleApi } from '../support/kits/console-api-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { recordUse } from '../support/stores/day-counter.ts';

type Entries = { items: unknown[] };

describe('the API of customers', () => {
  const started = shared(startConsoleApi);
  const operator = shared(() => started.signIn());

  const pets = async (key: string) => (await started.pets(key)).status;

  async function call<T>(method: string, path: string, body?: unknown, status = 200): Promise<T> {
    const response = await operator.send(method, path, body);
    expect(response, JSON.stringify(response.body)).toMatchObject({ status });
    return response.body as T;
  }

  test('makes a customer, gives it keys, changes, suspends, resumes and removes it', async () => {
    const made = await call<CustomerView>(
      'POST',
      '/api/customers',
      { name: 'Shop', plan: 'pro', reference: 'C-1', day: 50 },
      201,
    );
    expect(made).toMatchObject({ name: 'Shop', plan: 'pro', day: 50, state: 'active', keys: 0 });
    const path = `/api/customers/${made.id}`;
    const first = await call<{ id: string; key: string }>('POST', `${path}/keys`, {}, 201);
    const second = await call<{ id: string; key: string }>(
      'POST',
      `${path}/keys`,
      { name: 'Second', scopes: ['pets-service:read'], expiresAt: '2099-01-01' },
      201,
    );
    expect(second).toMatchObject({ customerId: made.id, name: 'Second', scopes: ['pets-service:read'] });
    expect([await pets(first.key), await pets(second.key)]).toEqual([200, 200]);
    const shown = await call<CustomerDetail>('GET', path);
    expect(shown).toMatchObject({
      keys: 2,
      windows: { day: { used: 2, limit: 50 } },
      limits: { day: { from: 'customer', limit: 50, plan: 10_000 } },
      items: [{ id: second.id }, { id: first.id }],
    });

    const changed = await call<CustomerDetail>('PATCH', path, {
      rev: shown.rev,
      day: 2,
      contact: 'ada@example.com',
    });
    expect(changed).toMatchObject({ contact: 'ada@example.com', windows: { day: { remaining: 0 } } });
    expect(await pets(first.key)).toBe(429);
    const late = await operator.send('PATCH', path, { rev: shown.rev, day: 3 });
    expect(late).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect(await call('DELETE', `${path}/day`)).toMatchObject({ windows: { day: { used: 0 } } });
    expect(await pets(second.key)).toBe(200);
    expect(await started.lastChange({ targets: [made.id] })).toMatchObject({
      action: 'usage.reset-day',
      before: { used: '2' },
      after: { used: '0' },
    });
    expect(await call('GET', `${path}/usage?days=1`)).toMatchObject({ items: [{ served: 3 }] });

    const suspended = await Promise.all([1, 2, 3].map(() => call('POST', `${path}/suspend`)));
    for (const each of suspended) expect(each).toMatchObject({ state: 'suspended' });
    expect(
      (await call<Entries>('GET', `/api/audit?action=customers.suspend&target=${made.id}`)).items,
    ).toHaveLength(1);
    expect([await pets(first.key), await pets(second.key)]).toEqual([401, 401]);
    expect(await call('POST', `${path}/resume`)).toMatchObject({ state: 'active' });
    expect(await pets(second.key)).toBe(200);

    expect(await operator.send('DELETE', path)).toMatchObject({ status: 422 });
    for (const { id } of [first, second]) await call('POST', `/api/keys/${id}/revoke`);
    expect(await call('DELETE', path)).toMatchObject({ id: made.id });
    expect(await operator.send('GET', path)).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });

  test('shows its use and its failed requests', async () => {
    const { key, customerId } = await started.issue({ day: 3 });
    const path = `/api/customers/${customerId}`;
    await recordUse(started.redis, customerId, 1, 40);
    expect([await pets(key), await pets(key)]).toEqual([200, 200]);
    const { rev } = await call<{ rev: number }>('GET', path);
    await call('PATCH', path, { rev, minute: 1 });
    expect(await pets(key)).toBe(429);
    const { items } = await call<{ items: { served: number }[] }>('GET', `${path}/usage?days=2`);
    expect(items.map(({ served }) => served)).toEqual([40, 2]);
    await expect
      .poll(() => call('GET', `${path}/failures`), { timeout: 15_000 })
      .toMatchObject({ items: [{ status: 429, code: 'rate_limit_exceeded', method: 'GET' }], next: null });
  });

  test('lists what customers use if that is asked for', async () => {
    const [used, unused] = [
      await started.issue({ name: 'Listed used', day: 3 }),
      await started.issue({ name: 'Listed unused' }),
    ];
    await recordUse(started.redis, used.customerId, 1, 40);
    expect([await pets(used.key), await pets(used.key)]).toEqual([200, 200]);
    const list = '/api/customers?search=listed';
    const { items } = await call<{ items: CustomerRow[] }>('GET', `${list}&use=true`);
    const today = new Date().toISOString().slice(0, 10);
    const before = Array.from({ length: 28 }, () => 0);
    expect(items).toMatchObject([
      { id: unused.customerId, use: { days: [...before, 0, 0], lastUsedOn: null, bannedKeys: 0 } },
      {
        id: used.customerId,
        use: { windows: { day: { used: 2, limit: 3 } }, days: [...before, 40, 2], lastUsedOn: today },
      },
    ]);
    const without = await call<{ items: CustomerRow[] }>('GET', list);
    expect(without.items.map(({ use }) => use)).toEqual([undefined, undefined]);
    expect((await operator.send('GET', `${list}&use=yes`)).status).toBe(400);
  });

  test('lists customers in pages, newest first, and finds them by what people know', async () => {
    const names = ['Page one', 'Page two', 'Page three'];
    for (const name of names)
      await call('POST', '/api/customers', { name, plan: 'free', contact: `${name}@x` }, 201);
    type Page = { items: CustomerView[]; next: string | null; total: number };
    const read = async (query: string) => call<Page>('GET', `/api/customers?${query}`);
    const first = await read('search=page&limit=2');
    expect(first.items.map(({ name }) => name)).toEqual(['Page three', 'Page two']);
    const second = await read(`search=page&limit=2&after=${encodeURIComponent(first.next ?? '')}`);
    expect(second).toMatchObject({ items: [{ name: 'Page one' }], next: null });
    expect((await read('search=ONE%40x')).items).toHaveLength(1);
    expect((await read('search=page&plan=pro')).items).toEqual([]);
    expect((await read('')).total).toBe(await started.redis.zcard(redisKeys.customers));
    expect(await operator.send('GET', '/api/customers?after=x')).toMatchObject({ status: 422 });
  });

  test('refuses what is invalid, and what does not exist', async () => {
    for (const body of [
      { name: 'x' },
      { name: '', plan: 'free' },
      { name: 'x', plan: 'free', minute: 0 },
      { name: 'x', plan: 'free', colour: 1 },
    ]) {
      expect(await operator.send('POST', '/api/customers', body)).toMatchObject({ status: 400 });
    }
    expect(await operator.send('POST', '/api/customers', { name: 'x', plan: 'none' })).toMatchObject({
      status: 422,
    });
    // A plan that somebody has made with redis-cli, under a name that no command accepts.
    await started.redis.hset(redisKeys.plan('Gold'), { minute: 5 });
    await started.redis.sadd(redisKeys.planNames, 'Gold');
    const gold = await operator.send('POST', '/api/customers', { name: 'x', plan: 'Gold' });
    expect(gold).toMatchObject({
      status: 422,
      body: { message: expect.not.stringContaining('Gold,') as unknown },
    });
    const { customerId } = await started.issue();
    expect(await operator.send('PATCH', `/api/customers/${customerId}`, { rev: 0 })).toMatchObject({
      status: 400,
    });
    expect(await operator.send('DELETE', `/api/customers/${customerId}/day`)).toMatchObject({
      status: 422,
      body: { message: `The customer ${customerId} has used nothing today (UTC)` },
    });
    expect((await operator.send('GET', `/api/customers/${customerId}/usage?days=401`)).status).toBe(400);
    for (const id of ['cus_nobody', 'key_1', 'cus_%7Bx%7D']) {
      expect(await operator.send('GET', `/api/customers/${id}`)).toMatchObject({ status: 404 });
      expect(await operator.send('POST', `/api/customers/${id}/keys`, {})).toMatchObject({ status: 404 });
    }
  });
});
