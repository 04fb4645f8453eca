import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { disabledAfterMs } from '../../gateway/events/deliveries.ts';
import { failingField } from '../../gateway/events/delivery-store.ts';
import { readSecrets } from '../../gateway/events/webhook-record.ts';
import { removeWebhook, rotateWebhookSecret } from '../../gateway/operations/webhooks.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { startConsoleApi, type ConsoleApi, type ConsoleApiKit } from '../support/kits/console-api-kit.ts';
import { eventSession, webhookSettings } from '../support/kits/events-kit.ts';
import { isSignedBy, startReceiver, type Received, type Receiver } from '../support/webhooks/receiver.ts';

interface Made {
  id: string;
  secret: string;
  eventId: string;
  customerId: string | null;
  items: { id: string; eventId: string; outcome: string; secret?: string }[];
}

describe('the API of webhooks', () => {
  let started: ConsoleApiKit;
  let receiver: Receiver;
  let operator: ConsoleApi;
  let viewer: ConsoleApi;

  beforeAll(async () => {
    receiver = await startReceiver();
    started = await startConsoleApi(webhookSettings);
    operator = await started.signIn();
    viewer = await started.signIn({ role: 'viewer' });
  });
  afterAll(async () => {
    await started[Symbol.asyncDispose]();
    await receiver[Symbol.asyncDispose]();
  });

  async function call(method: string, path: string, body?: unknown, status = 200): Promise<Made> {
    const response = await operator.send(method, path, body);
    expect(response, JSON.stringify(response.body)).toMatchObject({ status });
    return response.body as Made;
  }

  test('adds, tests, changes, rotates, replays and removes the webhook of a customer, each audited', async () => {
    const { customerId } = await started.kit.issue();
    const path = `/api/webhooks/${customerId}`;
    const { id, secret } = await call(
      'POST',
      path,
      { url: `${receiver.url}/hook`, types: ['key.created'] },
      201,
    );
    const { items } = await call('GET', path);
    expect(items).toMatchObject([{ id, state: 'on', customerId }]);
    expect(items[0]?.secret).toBeUndefined();
    const { eventId } = await call('POST', `${path}/${id}/test`);
    await expect.poll(() => receiver.at('/hook').length).toBe(1);
    expect(isSignedBy(secret, receiver.at('/hook')[0] as Received)).toBe(true);
    const deliveries = () => call('GET', `${path}/${id}/deliveries`);
    await expect
      .poll(async () => (await deliveries()).items)
      .toMatchObject([{ eventId, outcome: 'delivered' }]);
    expect(await call('PATCH', `${path}/${id}`, { enabled: false })).toMatchObject({ state: 'off' });
    expect(await call('PATCH', `${path}/${id}`, { enabled: true, types: null })).toMatchObject({
      state: 'on',
      types: null,
    });
    const rotated = await call('POST', `${path}/${id}/rotate-secret`, { overlapSeconds: 60 });
    expect(rotated.secret).not.toBe(secret);
    expect(await call('POST', `${path}/${id}/replay`, {})).toMatchObject({ replayed: 0 });
    await call('DELETE', `${path}/${id}`);
    expect((await call('GET', path)).items).toEqual([]);
    const audit = await call('GET', `/api/audit?target=${id}`);
    expect(audit.items.map((entry) => (entry as unknown as { action: string }).action)).toEqual([
      'webhooks.remove',
      'webhooks.replay',
      'webhooks.rotate-secret',
      'webhooks.set',
      'webhooks.set',
      'webhooks.add',
    ]);
  });

  test('tests no webhook that is off or disabled, and changes one whose address was edited by hand', async () => {
    const { customerId } = await started.kit.issue();
    const path = `/api/webhooks/${customerId}`;
    const { id } = await call('POST', path, { url: `${receiver.url}/edited` }, 201);
    const { redis } = started.kit;
    await redis.hset(redisKeys.eventState, failingField(id), Date.now() - disabledAfterMs - 1000);
    await call('POST', `${path}/${id}/test`, undefined, 422);
    await call('PATCH', `${path}/${id}`, { enabled: false });
    await call('POST', `${path}/${id}/test`, undefined, 422);
    const key = redisKeys.webhooks(customerId);
    const edited = (await redis.hget(key, id))?.replace(`${receiver.url}/edited`, 'by hand') ?? '';
    await redis.hset(key, id, edited);
    await call('PATCH', `${path}/${id}`, { url: `${receiver.url}/mended` });
    await redis.hset(key, id, edited);
    await call('DELETE', `${path}/${id}`);
  });

  test('a webhook that fails says so, also if the time since which it does was edited into none', async () => {
    const { customerId } = await started.kit.issue();
    const path = `/api/webhooks/${customerId}`;
    const { id } = await call('POST', path, { url: 'http://127.0.0.1:1/' }, 201);
    await started.kit.redis.hset(redisKeys.eventState, failingField(id), 'by hand');
    await call('POST', `${path}/${id}/test`);
    const states = async () => (await call('GET', path)).items;
    await expect.poll(states, { timeout: 10_000 }).toMatchObject([{ id, state: 'failing' }]);
  });

  test('of two rotations at once, the second one keeps the secret of the first; after a removal there is none', async () => {
    const { customerId } = await started.kit.issue();
    const { redis } = started.kit;
    const path = `/api/webhooks/${customerId}`;
    const { id } = await call('POST', path, { url: `${receiver.url}/rotated` }, 201);
    const rotate = () => rotateWebhookSecret(eventSession(redis), customerId, id, 60_000);
    const made = (await Promise.all([rotate(), rotate()])).map(({ secret }) => secret);
    const kept = await readSecrets(redis, { owner: customerId, id });
    expect(new Set([kept?.secret, kept?.previous?.secret])).toEqual(new Set(made));
    const removed = removeWebhook(eventSession(redis), customerId, id);
    await Promise.allSettled([removed, rotate(), rotate()]);
    expect(await redis.hgetall(redisKeys.webhookSecrets(customerId))).toEqual({});
  });

  test('lists types and thresholds, and sets those of a plan', async () => {
    expect((await call('GET', '/api/event-types')).items.length).toBeGreaterThan(9);
    const set = (plan: string, thresholds: unknown, status = 200) =>
      call('PUT', `/api/thresholds/${plan}`, { thresholds }, status);
    expect(await set('pro', [90, 50])).toMatchObject({
      items: [{ plan: 'pro', thresholds: [50, 90] }, { plan: '*' }],
    });
    expect(await set('pro', null)).toMatchObject({ items: [{ plan: '*', thresholds: [80, 100] }] });
    await set('pro', [0], 400);
    await set('gold', [50], 422);
  });

  test.each([
    ['a host that is not public', { url: 'https://10.0.0.1/' }, 422],
    ['an unknown type', { url: 'https://example.com/', types: ['nothing'] }, 400],
    ['a type for operators', { url: 'https://example.com/', types: ['usage.day'] }, 422],
    ['no types', { url: 'https://example.com/', types: [] }, 400],
    ['no address', {}, 400],
    ['a field that there is not', { url: 'https://example.com/', secret: 'whsec_mine' }, 400],
  ])('refuses %s, and changes nothing', async (_what, body, status) => {
    const { customerId } = await started.kit.issue();
    await call('POST', `/api/webhooks/${customerId}`, body, status);
    expect((await call('GET', `/api/webhooks/${customerId}`)).items).toEqual([]);
  });

  test('is for operators, and finds a webhook with its owner only', async () => {
    const { customerId } = await started.kit.issue();
    const { id } = await call('POST', '/api/webhooks/operators', { url: `${receiver.url}/all` }, 201);
    expect((await viewer.send('POST', `/api/webhooks/operators/${id}/test`)).status).toBe(403);
    expect((await viewer.send('GET', '/api/webhooks/operators')).status).toBe(200);
    await call('POST', `/api/webhooks/${customerId}/${id}/test`, undefined, 404);
    await call('GET', '/api/webhooks/nobody', undefined, 404);
    await call('DELETE', '/api/webhooks/operators/nothing', undefined, 404);
    await call('DELETE', `/api/webhooks/operators/${id}`);
  });
});
