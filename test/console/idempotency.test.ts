import { describe, expect, test } from 'vitest';
import { runOnce } from '../../gateway/control/run-once.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { startConsoleApi } from '../support/kits/console-api-kit.ts';
import { contents } from '../support/kits/ops-kit.ts';
import { startGateway } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';

describe('Idempotency-Key of the operators’ API', () => {
  const started = shared(startConsoleApi);
  const program = shared(() => started.issueToken(['customers:write', 'keys:write']));

  const wanted = { name: 'Shop', plan: 'pro' };
  const create = (key: string, body: object = wanted, { send } = program) =>
    send('POST', '/api/customers', body, { 'Idempotency-Key': key });
  const customers = () => started.redis.zcard(redisKeys.customers);

  test('a repetition gets the first response and makes nothing more, quoted or not', async () => {
    const before = await customers();
    const first = await create('order-1');
    expect(first).toMatchObject({ status: 201, body: wanted });
    expect(first.headers.get('Idempotency-Replayed')).toBeNull();
    for (const key of ['order-1', '"order-1"']) {
      const again = await create(key);
      expect({ status: again.status, body: again.body }).toEqual({ status: 201, body: first.body });
      expect(again.headers.get('Idempotency-Replayed')).toBe('true');
    }
    expect(await customers()).toBe(before + 1);
    // Without the header, each request makes one.
    await program.send('POST', '/api/customers', wanted);
    expect(await customers()).toBe(before + 2);
  });

  test('another body, or another operation, with the same key is refused', async () => {
    const { id } = (await create('order-2')).body as { id: string };
    const refused = { status: 422, body: { code: 'idempotency_key_reused' } };
    expect(await create('order-2', { ...wanted, plan: 'free' })).toMatchObject(refused);
    const headers = { 'Idempotency-Key': 'order-2' };
    expect(await program.send('POST', `/api/customers/${id}/keys`, wanted, headers)).toMatchObject({
      status: 400,
    });
    expect(await program.send('POST', '/api/keys', wanted, headers)).toMatchObject(refused);
  });

  test('the key of another caller is another key', async () => {
    const other = await started.issueToken(['customers:write']);
    const [one, two] = [await create('order-3'), await create('order-3', wanted, other)];
    expect((two.body as { id: string }).id).not.toBe((one.body as { id: string }).id);
  });

  test('of requests at once, on two gateways, one is executed', async () => {
    const { server, upstream } = started;
    await using second = await startGateway({ REDIS_URL: server.url, PETS_SERVICE_URL: upstream.url });
    const before = await customers();
    const send = async (origin: string) => {
      const response = await fetch(`${origin}/api/customers`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${program.token}`,
          'Content-Type': 'application/json',
          'Idempotency-Key': 'order-4',
        },
        body: JSON.stringify(wanted),
      });
      return { status: response.status, body: await response.json() };
    };
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, index) => send(index % 2 === 0 ? started.origin : second.adminUrl)),
    );
    const made = responses.filter(({ status }) => status === 201);
    const others = responses.filter(({ status }) => status !== 201);
    expect(new Set(made.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    for (const one of others)
      expect(one).toMatchObject({ status: 409, body: { code: 'idempotency_key_in_use' } });
    expect(await customers()).toBe(before + 1);
  });

  test('an API key in a stored response cannot be read in Redis, and the caller gets it again', async () => {
    const { id } = (await create('order-5')).body as { id: string };
    const issue = () =>
      program.send('POST', `/api/customers/${id}/keys`, {}, { 'Idempotency-Key': 'key-of-order-5' });
    const first = await issue();
    const { key } = first.body as { key: string };
    expect(key).toMatch(/^pets_/);
    expect((await issue()).body).toEqual(first.body);
    const stored = JSON.stringify(await contents(started.redis));
    for (const secret of [key, program.token]) expect(stored).not.toContain(secret.slice(5));
    for (const name of await started.redis.keys(redisKeys.idempotency('*'))) {
      const ttlMs = await started.redis.pttl(name);
      expect(ttlMs).toBeGreaterThan(0);
      expect(ttlMs).toBeLessThanOrEqual(86_400_000);
    }
  });

  test('what was refused may be sent again with the same key', async () => {
    expect(await create('order-6', { ...wanted, plan: 'none' })).toMatchObject({ status: 422 });
    expect(await create('order-6', { name: '' })).toMatchObject({ status: 400 });
    expect(await create('order-6')).toMatchObject({ status: 201 });
  });

  test('an invalid key is refused', async () => {
    const before = await customers();
    for (const key of ['', '""', 'a,b', '"a', 'x'.repeat(256)]) {
      expect(await create(key)).toMatchObject({ status: 400, body: { code: 'bad_request' } });
    }
    expect(await customers()).toBe(before);
  });

  test('a request whose outcome is unknown is not executed again', async () => {
    const { redis } = started;
    const request = { key: 'k', secret: 's', content: '1', isRefusal: () => false };
    const fails = () => Promise.reject(new Error('Redis was lost'));
    await expect(runOnce({ redis }, request, fails)).rejects.toThrow('Redis was lost');
    const run = () => expect.unreachable();
    expect(await runOnce({ redis }, request, run)).toEqual({ outcome: 'in_use' });
    expect(await runOnce({ redis }, { ...request, content: '2' }, run)).toEqual({ outcome: 'reused' });
    // What was edited by hand is no response, either.
    for (const [name] of await contents(redis)) {
      if (!name.startsWith(redisKeys.idempotency(''))) continue;
      const { fingerprint } = JSON.parse((await redis.get(name)) ?? '{}') as { fingerprint: string };
      await redis.set(name, JSON.stringify({ fingerprint, response: 'x' }));
    }
    expect(await runOnce({ redis }, request, run)).toEqual({ outcome: 'in_use' });
  });
});
