import { describe, expect, test } from 'vitest';
import { addBan } from '../../gateway/control/bans/bans.ts';
import {
  changeCustomer,
  removeCustomer,
  resumeCustomer,
  suspendCustomer,
} from '../../gateway/control/customers/customers.ts';
import { readCustomerDetail } from '../../gateway/control/customers/find-customers.ts';
import { exportLine, importKeys } from '../../gateway/control/keys/key-transfer.ts';
import { showStoredKey } from '../../gateway/control/keys/stored-keys.ts';
import { generateApiKey, hashApiKey } from '../../gateway/keys/api-key-format.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { startGatewayFleet } from '../support/kits/gateway-fleet.ts';
import { keyIssuer, sessionOf } from '../support/kits/keys.ts';
import { shared } from '../support/kits/shared.ts';
import { dayUsage } from '../support/stores/day-counter.ts';
import { startAnyRedis } from '../support/stores/redis-server.ts';

const gateways = 2;

const server = shared(startAnyRedis);
const fleet = shared(() => startGatewayFleet(server.url, gateways));

const session = () => sessionOf(fleet.redis);
const store = () => keyIssuer(fleet.redis).store;
const statusOf = async (key: string, turn = 0) => (await fleet.pets(key, turn)).status;

describe('the keys of a customer', () => {
  test('get exactly its limit together on several gateways, while keys are rotated, added and revoked and its plan changes', async () => {
    const first = await fleet.issue({ day: 150, minute: 1_000_000, plan: 'pro' });
    const { customerId } = first;
    const keys = [first.key];
    for (let more = 0; more < 3; more += 1) keys.push((await store().issueFor(customerId, {})).key);
    let served = 0;
    let turn = 0;
    const burst = async (requests: number) => {
      const statuses = await Promise.all(
        Array.from({ length: requests }, () => {
          turn += 1;
          return statusOf(keys[turn % keys.length] ?? '', turn);
        }),
      );
      served += statuses.filter((status) => status === 200).length;
      return statuses;
    };
    await burst(40);
    const [rotated] = await Promise.all([store().rotate(first.id, 60_000), burst(40)]);
    keys.push(rotated.key);
    await Promise.all([changeCustomer(session(), customerId, { plan: 'business' }), burst(30)]);
    const added = await store().issueFor(customerId, { name: 'added' });
    keys.push(added.key);
    await Promise.all([store().revoke(added.record.id), burst(20)]);
    const last = await burst(60);
    expect(served).toBe(150);
    expect(last).toContain(429);
    expect(await dayUsage(fleet.redis, customerId)).toBe(150);
    expect(await statusOf(added.key)).toBe(401);
  });

  test('are banned one by one', async () => {
    const { id, key, customerId } = await fleet.issue();
    const sibling = await store().issueFor(customerId, {});
    await addBan(session(), id, 60_000, 'its program runs wild');
    expect(await statusOf(key)).toBe(429);
    expect(await statusOf(sibling.key)).toBe(200);
  });
});

describe('a customer', () => {
  test('is suspended and resumed on every gateway from the next request on', async () => {
    const { id, key, customerId } = await fleet.issue();
    const sibling = await store().issueFor(customerId, {});
    const all = () =>
      Promise.all([key, sibling.key].flatMap((each) => [0, 1].map((turn) => statusOf(each, turn))));
    expect(await all()).toEqual([200, 200, 200, 200]);
    expect(await suspendCustomer(session(), customerId)).toMatchObject({ state: 'suspended' });
    expect(await all()).toEqual([401, 401, 401, 401]);
    expect((await fleet.pets(key)).json).toMatchObject({ code: 'account_suspended' });
    await expect(store().rotate(id, 0)).rejects.toThrow(
      `the customer of the key ${id} is suspended: resume it first (ops customers resume ${customerId})`,
    );
    // Doing it twice changes nothing.
    const { rev } = await suspendCustomer(session(), customerId);
    expect((await suspendCustomer(session(), customerId)).rev).toBe(rev);
    expect(await resumeCustomer(session(), customerId)).toMatchObject({ state: 'active', suspendedAt: null });
    expect(await all()).toEqual([200, 200, 200, 200]);
    await expect(resumeCustomer(session(), customerId)).rejects.toThrow('is not suspended');
  });

  /** Line of an export. */
  const lineOf = async (keyId: string) => exportLine(await showStoredKey(fleet.redis, keyId));

  test('that Redis has lost alone, or whose key it no longer finds, is restored by an import', async () => {
    const { id, key, customerId, keyHash } = await fleet.issue({ day: 7 });
    const line = await lineOf(id);
    const customer = redisKeys.customer(customerId);
    await fleet.redis.del(customer);
    await expect(store().revoke(id)).rejects.toThrow(`${customer} is missing: import it`);
    expect(await importKeys([line], session())).toMatchObject({ added: 1 });
    expect(await fleet.redis.hget(customer, 'day')).toBe('7');
    await fleet.redis.del(redisKeys.keyCustomer(keyHash));
    expect(await importKeys([line], session())).toMatchObject({ unchanged: 1 });
    expect(await fleet.redis.get(redisKeys.keyCustomer(keyHash))).toBe(customerId);
    expect(await statusOf(key)).toBe(200);
  });

  test('whose imported id has other characters than others breaks nothing', async () => {
    const { id, key } = await fleet.issue();
    const parsed = JSON.parse(await lineOf(id)) as { key: object };
    const odd = generateApiKey();
    const place = { sha256: hashApiKey(odd), customerId: 'cus_-abc1' };
    const line = JSON.stringify({ ...parsed, key: { ...parsed.key, id: 'key_odd' }, ...place });
    expect(await importKeys([line], session())).toMatchObject({ added: 1 });
    const statuses = await Promise.all([odd, key, odd, key].map((each) => statusOf(each)));
    expect(statuses).toEqual([200, 200, 200, 200]);
    expect(await dayUsage(fleet.redis, 'cus_-abc1')).toBe(2);
  });

  test('is removed when its keys have ended with all that was kept of them but its use, and can be imported again', async () => {
    const { id, key, customerId, keyHash } = await fleet.issue();
    const line = await lineOf(id);
    expect(await statusOf(key)).toBe(200);
    const place = { customerId, keyHash };
    await expect.poll(() => fleet.redis.exists(redisKeys.keyUse(place)), { timeout: 20_000 }).toBe(1);
    await expect(removeCustomer(session(), customerId)).rejects.toThrow(
      `has the key ${id}, which is active: revoke it`,
    );
    await store().revoke(id);
    await removeCustomer(session(), customerId);
    await expect(readCustomerDetail(session(), customerId)).rejects.toThrow('there is no customer');
    await expect(store().show(id)).rejects.toThrow('there is no API key');
    expect(await dayUsage(fleet.redis, customerId)).toBe(1);
    expect(await fleet.redis.zscore(redisKeys.customers, customerId)).toBeNull();
    const kept = [redisKeys.keyUse(place), redisKeys.apiKey(place), redisKeys.customerKeys(customerId)];
    for (const name of kept) expect(await fleet.redis.exists(name), name).toBe(0);
    expect(await statusOf(key)).toBe(401);
    for (const gateway of fleet.gateways) expect(gateway.output()).not.toContain('Redis has lost API keys');
    expect(await importKeys([line], session())).toMatchObject({ added: 1 });
    expect(await statusOf(key)).toBe(200);
  });

  test('is not removed while another operator changes it', async () => {
    const { id, customerId } = await fleet.issue();
    await store().revoke(id);
    const removing = session();
    const { make } = removing.audit;
    let further: ReturnType<ReturnType<typeof store>['issueFor']> | undefined;
    // Between what the removal reads and what it deletes.
    removing.audit.make = async (...change) => {
      await (further ??= store().issueFor(customerId, { name: 'new' }));
      return make(...change);
    };
    await expect(removeCustomer(removing, customerId)).rejects.toThrow('which is active: revoke it');
    expect(await statusOf((await further)?.key ?? '')).toBe(200);
  });

  test('that was edited into something else is not served, and the error names its Redis key', async () => {
    const { key, customerId } = await fleet.issue({ day: 9 });
    const customer = redisKeys.customer(customerId);
    expect(await statusOf(key)).toBe(200);
    await fleet.redis.hset(customer, { plan: '' });
    await fleet.redis.hincrby(customer, 'rev', 1);
    expect((await fleet.pets(key)).json).toMatchObject({ code: 'service_unavailable' });
    const issue = `${customer} is invalid (plan is missing): restore or delete it`;
    expect(fleet.gateways[0]?.output()).toContain(issue);
    await expect(readCustomerDetail(session(), customerId)).rejects.toThrow(issue);
    await fleet.redis.hset(customer, { plan: 'free' });
    expect(await statusOf(key)).toBe(200);
    await fleet.redis.del(customer);
    expect((await fleet.pets(key)).json).toMatchObject({ code: 'service_unavailable' });
    await fleet.redis.set(customer, 'oops');
    expect((await fleet.pets(key)).json).toMatchObject({ code: 'service_unavailable' });
    expect(fleet.gateways[0]?.output()).toContain(`gw:*{${customerId}}* holds a value of another type`);
  });

  test('forgets keys that ended long ago when it gets a further one', async () => {
    const { record: first } = await store().issue({ name: 'Acme', plan: 'free' });
    const { place } = await store().show(first.id);
    // As Redis does 90 days after a key has ended.
    await fleet.redis.del(redisKeys.apiKey(place));
    const { record: second } = await store().issueFor(first.customerId, {});
    expect(await fleet.redis.smembers(redisKeys.customerKeys(first.customerId))).toEqual([second.id]);
    const known = await fleet.redis.hmget(redisKeys.apiKeyIds, first.id, second.id);
    expect(known).toEqual([null, expect.any(String)]);
    expect(await fleet.redis.zscore(redisKeys.apiKeysByCreation, first.id)).toBeNull();
  });
});
