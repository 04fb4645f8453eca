import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addWebhook } from '../../gateway/operations/webhooks.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { recordSecrets } from '../support/checks/evidence.ts';
import { startConsoleApi, type ConsoleApi, type ConsoleApiKit } from '../support/kits/console-api-kit.ts';
import { eventSession, localRules, webhookSettings } from '../support/kits/events-kit.ts';
import { enterPortal, type PortalCustomer } from '../support/kits/portal-kit.ts';
import { isSignedBy, startReceiver, type Received, type Receiver } from '../support/webhooks/receiver.ts';

interface Webhook {
  id: string;
  secret: string;
}

describe('webhooks and thresholds in the portal', () => {
  let started: ConsoleApiKit;
  let operator: ConsoleApi;
  let receiver: Receiver;

  beforeAll(async () => {
    receiver = await startReceiver();
    started = await startConsoleApi(webhookSettings);
    operator = await started.signIn();
  });
  afterAll(async () => {
    await started[Symbol.asyncDispose]();
    await receiver[Symbol.asyncDispose]();
  });

  async function newCustomer(name: string) {
    const { customerId } = await started.kit.issue({ name, plan: 'free' });
    const { kit } = started;
    return { customerId, portal: await enterPortal(kit.gateway.url, kit.redis, customerId) };
  }
  async function add(portal: PortalCustomer, body: object = {}): Promise<Webhook> {
    const response = await portal.send('POST', '/webhooks', { url: `${receiver.url}/hook`, ...body });
    expect(response.status, response.text).toBe(201);
    const webhook = response.json as Webhook;
    recordSecrets(webhook.secret);
    return webhook;
  }
  const listed = async (portal: PortalCustomer, path = '/webhooks') =>
    ((await portal.send('GET', path)).json as { items: unknown[] }).items;

  test('adds, tests, changes, rotates, replays and removes a webhook of the customer, each audited', async () => {
    const { customerId, portal } = await newCustomer('Hooked');
    const { id, secret } = await add(portal, { types: ['key.created'] });
    const path = `/webhooks/${id}`;
    const shown = await portal.send('GET', '/webhooks');
    expect(shown.json).toMatchObject({ items: [{ id, state: 'on', customerId }], next: null });
    expect(shown.text).not.toContain('whsec_');
    const { eventId } = (await portal.send('POST', `${path}/test`)).json as { eventId: string };
    await expect.poll(() => receiver.at('/hook').length, { timeout: 15_000 }).toBe(1);
    expect(isSignedBy(secret, receiver.at('/hook')[0] as Received)).toBe(true);
    await expect
      .poll(() => listed(portal, `${path}/deliveries`), { timeout: 15_000 })
      .toMatchObject([{ eventId, outcome: 'delivered', status: 200, error: null }]);
    const made = await portal.send('POST', '/keys', { name: 'Own' });
    recordSecrets(made.text);
    await expect.poll(() => receiver.at('/hook').length, { timeout: 15_000 }).toBe(2);
    expect(receiver.at('/hook')[1]?.body).toContain((made.json as Webhook).id);
    const changed = await portal.send('PATCH', path, { enabled: false, description: 'Mine' });
    expect(changed.json).toMatchObject({ state: 'off', description: 'Mine', types: ['key.created'] });
    expect((await portal.send('PATCH', path, { enabled: true })).json).toMatchObject({ state: 'on' });
    const rotated = (await portal.send('POST', `${path}/rotate-secret`, { overlapSeconds: 60 })).json;
    recordSecrets((rotated as Webhook).secret);
    expect((rotated as Webhook).secret).not.toBe(secret);
    expect((await portal.send('POST', `${path}/replay`, {})).json).toMatchObject({ replayed: 0 });
    expect((await portal.send('DELETE', path)).status).toBe(200);
    expect(await listed(portal)).toEqual([]);
    const { body } = await operator.send('GET', `/api/audit?target=${id}`);
    expect(
      (body as { items: { who: string; action: string }[] }).items.map(({ who, action }) => [who, action]),
    ).toEqual(
      ['remove', 'replay', 'rotate-secret', 'set', 'set', 'add'].map((action) => [
        `portal:${customerId}`,
        `webhooks.${action}`,
      ]),
    );
  });

  test('sends again what was given up', async () => {
    const { portal } = await newCustomer('Behind');
    const { id } = await add(portal, { url: `${receiver.url}/behind` });
    await portal.send('POST', `/webhooks/${id}/test`);
    await expect.poll(() => receiver.at('/behind').length, { timeout: 15_000 }).toBe(1);
    const { redis } = started.kit;
    const streamId = (await redis.xrevrange(redisKeys.events, '+', '-', 'COUNT', 1))[0]?.[0] ?? '';
    await redis.zadd(redisKeys.deadEvents(id), Date.now(), streamId);
    expect(await listed(portal)).toMatchObject([{ id, dead: 1 }]);
    expect((await portal.send('POST', `/webhooks/${id}/replay`)).json).toMatchObject({ replayed: 1 });
    await expect.poll(() => receiver.at('/behind').length, { timeout: 15_000 }).toBe(2);
    expect(await listed(portal)).toMatchObject([{ id, dead: 0 }]);
  });

  test.each([
    ['an address that is not public', { url: 'https://10.0.0.1/' }, 422],
    ['the address of the metadata of a cloud', { url: 'http://169.254.169.254/' }, 422],
    ['an unknown type', { url: 'https://example.com/', types: ['nothing'] }, 400],
    ['a type for operators', { url: 'https://example.com/', types: ['usage.day'] }, 422],
    ['a secret of its own', { url: 'https://example.com/', secret: 'whsec_mine' }, 400],
    ['another owner', { url: 'https://example.com/', owner: 'operators' }, 400],
    ['rules of its own', { url: 'https://10.0.0.1/', rules: { allowedNetworks: ['10.0.0.0/8'] } }, 400],
  ])('refuses a webhook with %s, and says nothing of settings', async (_what, body, status) => {
    const { portal } = await newCustomer('Curious');
    const response = await portal.send('POST', '/webhooks', body);
    expect(response.status, response.text).toBe(status);
    expect(response.text).not.toContain('WEBHOOK_');
    expect(await listed(portal)).toEqual([]);
  });

  test('does not say where an address of the own network is allowed', async () => {
    const { customerId, portal } = await newCustomer('Prying');
    const rules = { ...localRules, customerNetworks: ['10.0.0.0/8'] };
    const session = eventSession(started.kit.redis);
    const { id, secret } = await addWebhook(session, customerId, { url: 'http://10.0.0.1/' }, rules);
    recordSecrets(secret);
    await portal.send('POST', `/webhooks/${id}/test`);
    await expect
      .poll(() => listed(portal, `/webhooks/${id}/deliveries`), { timeout: 15_000 })
      .toMatchObject([
        { delivered: false, status: null, error: 'the address leads to an address that is not public' },
      ]);
  });

  test('has five webhooks, which get all types but those for operators', async () => {
    const { portal } = await newCustomer('Many hooks');
    const types = (await listed(portal, '/event-types')) as { type: string }[];
    expect(types.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['quota.threshold', 'key.expiring']),
    );
    expect(types.map(({ type }) => type)).not.toContain('usage.day');
    for (let count = 0; count < 5; count += 1) await add(portal);
    const refused = await portal.send('POST', '/webhooks', { url: `${receiver.url}/hook` });
    expect(refused).toMatchObject({ status: 422, json: { code: 'invalid_operation' } });
    expect(await listed(portal)).toHaveLength(5);
  });

  test('sets its own thresholds, audited, and goes back to those of the plan', async () => {
    const { customerId, portal } = await newCustomer('Cautious');
    expect((await portal.send('GET', '/customer')).json).toMatchObject({
      thresholds: null,
      planThresholds: [80, 100],
    });
    const set = (thresholds: unknown) => portal.send('PUT', '/thresholds', { thresholds });
    expect(await set([90, 50])).toMatchObject({ status: 200, json: { thresholds: [50, 90], warnings: [] } });
    expect((await operator.send('GET', `/api/customers/${customerId}`)).body).toMatchObject({
      thresholds: [50, 90],
      plan: 'free',
    });
    for (const wrong of [[0], [101], [50, 50], [1.5], ['50'], [1, 2, 3, 4, 5, 6], 'none', undefined])
      expect((await set(wrong)).status).toBe(400);
    expect((await set([50, null, 'x'])).json).toMatchObject({
      message: expect.stringMatching(/^thresholds: are not up to 5 [^;]*$/),
    });
    expect((await portal.send('GET', '/customer')).json).toMatchObject({ thresholds: [50, 90] });
    expect((await set([])).json).toMatchObject({ thresholds: [] });
    expect((await set(null)).json).toMatchObject({ thresholds: null });
    const { body } = await operator.send('GET', `/api/audit?who=portal:${customerId}`);
    expect((body as { items: { action: string }[] }).items.map(({ action }) => action)).toEqual([
      ...Array<string>(3).fill('customers.set'),
      'portal.sign_in',
    ]);
  });
});
