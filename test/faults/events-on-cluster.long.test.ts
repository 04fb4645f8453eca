import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { dayNumberOf, utcDate } from '../../gateway/limits/utc-day.ts';
import { addBan } from '../../gateway/operations/bans.ts';
import { changeCustomer, suspendCustomer } from '../../gateway/operations/customers.ts';
import { addWebhook } from '../../gateway/operations/webhooks.ts';
import { redisKeys, type WebhookOwner } from '../../gateway/redis/redis-keys.ts';
import { eventSession, localRules, webhookSettings } from '../support/kits/events-kit.ts';
import { startGatewayFleet, type GatewayFleet } from '../support/kits/gateway-fleet.ts';
import { keyIssuer } from '../support/kits/keys.ts';
import { runOps } from '../support/kits/service.ts';
import { startRedisCluster, type RedisClusterServers } from '../support/stores/redis-cluster.ts';
import { contentOf, idOf, startReceiver, type Receiver } from '../support/webhooks/receiver.ts';

/** An entry of the audit log is read 5 s after it was written. */
const timeout = 30_000;

describe('events on a Redis Cluster', { tags: ['redis-server'], timeout: 120_000 }, () => {
  let cluster: RedisClusterServers;
  let fleet: GatewayFleet;
  let receiver: Receiver;
  beforeAll(async () => {
    cluster = await startRedisCluster();
    receiver = await startReceiver();
    fleet = await startGatewayFleet(cluster.url, 2, () => webhookSettings);
    // The first leader of all reads the audit log from then on.
    const state = () => fleet.redis.hget(redisKeys.eventState, 'audit');
    await vi.waitFor(async () => expect(await state()).not.toBeNull(), { timeout });
  }, 120_000);
  afterAll(async () => {
    await fleet[Symbol.asyncDispose]();
    await receiver[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
  });

  const session = () => eventSession(fleet.redis);
  const add = (owner: WebhookOwner, path: string, types?: string[]) =>
    addWebhook(session(), owner, { url: `${receiver.url}${path}`, types }, localRules);
  const at = (path: string) => receiver.at(path).map(contentOf);
  const typesAt = (path: string) => at(path).map(({ type }) => type);
  const use = async (key: string, requests: number) => {
    for (let turn = 0; turn < requests; turn += 1) await fleet.pets(key, turn);
  };

  async function ops<T>(...args: string[]): Promise<T> {
    const env = { REDIS_URL: cluster.url, ...webhookSettings };
    const { code, stdout, stderr } = await runOps([...args, '--json'], env);
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
    return JSON.parse(stdout) as T;
  }

  test('each threshold is one event, for customers on every shard', async () => {
    const keys = await Promise.all(
      Array.from({ length: 12 }, () => fleet.issue({ plan: 'pro', day: 5, minute: 100 })),
    );
    const masters = keys.map(({ customerId }) => cluster.masterOf(redisKeys.customer(customerId)));
    expect(new Set(await Promise.all(masters)).size).toBe(3);
    await add('operators', '/all', ['quota.threshold']);
    for (const [index, { customerId }] of keys.entries())
      await add(customerId, `/own/${index}`, ['quota.threshold']);
    await Promise.all(keys.map(({ key }) => use(key, 7)));
    for (const index of keys.keys()) {
      const shares = () => at(`/own/${index}`).map(({ data }) => data['threshold']);
      await expect.poll(shares, { timeout }).toEqual([80, 100]);
    }
    await expect.poll(() => receiver.at('/all').length, { timeout }).toBe(24);
    expect(new Set(receiver.at('/all').map(idOf)).size).toBe(24);
  });

  test('changes by operators are events in their order, but for those that were not made', async () => {
    const { customerId, id } = await fleet.issue({ name: 'Ada' });
    await add(customerId, '/changes');
    const { store } = keyIssuer(fleet.redis);
    const suspension = { action: 'customers.suspend', target: customerId, before: null, after: {} } as const;
    const { audit } = session();
    await audit.notMade(await audit(suspension), suspension);
    const issued = await store.issueFor(customerId, { name: 'second' });
    await store.rotate(issued.record.id, 60_000);
    await addBan(session(), id, 60_000, 'scraping');
    await changeCustomer(session(), customerId, { plan: 'pro' });
    await store.revoke(id);
    await suspendCustomer(session(), customerId);
    const expected = [
      'key.created',
      'key.created',
      'key.rotated',
      'ban.began',
      'plan.changed',
      'key.revoked',
    ];
    await expect.poll(() => typesAt('/changes'), { timeout }).toEqual([...expected, 'customer.suspended']);
  });

  test('a change that was not made is no event, however many entries are between it and the one that says so', async () => {
    const { customerId } = await fleet.issue();
    await add(customerId, '/refuted');
    const change = { action: 'customers.suspend', target: customerId, before: null, after: {} } as const;
    const { audit } = session();
    const entry = await audit(change);
    const entries = Array.from({ length: 1200 }, () =>
      audit({ action: 'plans.set', target: 'pro', before: null, after: {} }),
    );
    await Promise.all(entries);
    await audit.notMade(entry, change);
    await keyIssuer(fleet.redis).store.issueFor(customerId, { name: 'last' });
    await expect.poll(() => typesAt('/refuted').at(-1), { timeout }).toBe('key.created');
    expect(typesAt('/refuted')).not.toContain('customer.suspended');
  });

  test('ops adds, tests, switches off and on, replays, lists and removes a webhook', async () => {
    const { customerId, key } = await fleet.issue({ plan: 'pro', day: 5, minute: 100 });
    const url = `${receiver.url}/by-ops`;
    const customer = ['--customer', customerId];
    const { id } = await ops<{ id: string }>('webhooks', 'add', url, ...customer);
    await ops('webhooks', 'test', id, ...customer);
    await expect.poll(() => typesAt('/by-ops'), { timeout }).toContain('webhook.test');
    await ops('webhooks', 'rotate-secret', id, ...customer);
    await ops('webhooks', 'set', id, '--off', ...customer);
    await add('operators', '/control', ['quota.threshold']);
    await use(key, 5);
    await expect.poll(() => receiver.at('/control').length, { timeout }).toBe(2);
    expect(typesAt('/by-ops')).not.toContain('quota.threshold');
    await ops('webhooks', 'set', id, '--on', ...customer);
    expect(await ops('webhooks', 'replay', id, '--since', '1h', ...customer)).toMatchObject({
      replayed: expect.any(Number) as number,
    });
    const thresholds = () => typesAt('/by-ops').filter((type) => type === 'quota.threshold').length;
    await expect.poll(thresholds, { timeout }).toBe(2);
    const deliveries = await ops<{ outcome: string }[]>('webhooks', 'deliveries', id, ...customer);
    expect(deliveries.every(({ outcome }) => outcome === 'delivered')).toBe(true);
    expect(deliveries.length).toBeGreaterThanOrEqual(3);
    expect(await ops('webhooks', 'list', ...customer)).toMatchObject([{ id, state: 'on', dead: 0 }]);
    await ops('webhooks', 'remove', id, ...customer);
    expect(await ops('webhooks', 'list', ...customer)).toEqual([]);
  });

  test('what no request has told is found by the sweep of the next leader, once', async () => {
    const { customerId } = await fleet.issue({ plan: 'pro', day: 1000 });
    const { store } = keyIssuer(fleet.redis);
    await store.issueFor(customerId, { name: 'soon', expiresAt: new Date(Date.now() + 86_400_000) });
    await add(customerId, '/swept', ['quota.threshold', 'key.expiring']);
    await fleet.redis.set(redisKeys.day(customerId, utcDate(dayNumberOf(Date.now()))), 850);
    const expected = ['key.expiring', 'quota.threshold'];
    await expect.poll(() => typesAt('/swept').toSorted(), { timeout: 90_000 }).toEqual(expected);
    const stream = await fleet.redis.xrange(redisKeys.events, '-', '+');
    const ids = stream.map(([, list]) => list[list.indexOf('id') + 1]);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
