import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readBusiestEndedKeys } from '../../gateway/operations/busiest-keys.ts';
import { readKeyDetail } from '../../gateway/operations/key-detail.ts';
import { readOnlyAudit } from '../../gateway/operations/session.ts';
import { readRefusedUse } from '../../gateway/quota/key-use.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';
import { keyIssuer, type IssuedKey } from '../support/kits/keys.ts';
import { monitorRedis } from '../support/stores/redis-monitor.ts';

describe('use of a key after its end', { tags: ['redis-server'] }, () => {
  let kit: GatewayKit;

  beforeAll(async () => {
    kit = await startGatewayKit({ TRUST_PROXY: 'loopback' });
  });

  afterAll(() => kit[Symbol.asyncDispose]());

  const from = async (address: string, key: string, path = '/v1/pets') =>
    (await send(kit.gateway.url + path, { key, headers: { 'x-forwarded-for': address } })).status;
  const revoke = ({ id }: IssuedKey) => keyIssuer(kit.redis).store.revoke(id);
  const reported = { timeout: 20_000 };
  const use = (issued: IssuedKey) => readRefusedUse(kit.redis, issued);
  const logOf = ({ id }: IssuedKey) =>
    kit.gateway
      .output()
      .split('\n')
      .filter((line) => line.includes(`"keyId":"${id}"`));

  test('of a revoked key: the log has its id, its page the address, the times and the number', async () => {
    // A gateway that starts on a busy machine writes its plans late.
    await expect.poll(() => kit.redis.exists(redisKeys.plan('pro')), reported).toBe(1);
    const issued = await kit.issue({ plan: 'pro' });
    const startedAt = Date.now();
    expect(await from('198.51.100.1', issued.key)).toBe(200);
    await revoke(issued);
    expect(await from('198.51.100.1', issued.key)).toBe(401);
    expect(await from('198.51.100.1', issued.key, '/v1/usage')).toBe(401);
    expect(await from('2001:db8:0:12::1', issued.key)).toBe(401);
    const byAddress = async () => (await use(issued)).map(({ address, requests }) => [address, requests]);
    await expect.poll(byAddress, reported).toEqual([
      ['2001:db8::/56', 1],
      ['198.51.100.1', 2],
    ]);
    for (const { from: first, to } of await use(issued)) {
      expect(Date.parse(first)).toBeGreaterThan(startedAt - 1000);
      expect(Date.parse(to)).toBeGreaterThanOrEqual(Date.parse(first));
      expect(Date.parse(to)).toBeLessThan(Date.now() + 1000);
    }
    const refused = logOf(issued).filter((line) => line.includes('"code":"revoked_api_key"'));
    expect(refused).toHaveLength(3);
    expect(refused[0]).toContain('"address":"198.51.100.1"');
    expect(kit.gateway.output()).not.toContain(issued.key.slice(0, 20));
    const session = { redis: kit.redis, audit: readOnlyAudit, now: () => Date.now() };
    expect(await readKeyDetail(session, issued.id)).toMatchObject({
      state: 'revoked',
      refusedUse: [{ address: '2001:db8::/56' }, { address: '198.51.100.1', requests: 2 }],
    });
    // Of the next report, which is added.
    expect(await from('198.51.100.1', issued.key)).toBe(401);
    await expect.poll(byAddress, reported).toEqual([
      ['198.51.100.1', 3],
      ['2001:db8::/56', 1],
    ]);
    const inUse = async () => (await readBusiestEndedKeys(session)).find(({ id }) => id === issued.id);
    await expect.poll(inUse, reported).toMatchObject({ requests: 4 });
    const first = (await use(issued))[0];
    expect(Date.parse(first?.to ?? '')).toBeGreaterThan(Date.parse(first?.from ?? ''));
  });

  test('of a suspended customer is none: the key has not ended', async () => {
    const [suspended, revoked] = [await kit.issue(), await kit.issue()];
    await kit.redis.hset(redisKeys.customer(suspended.customerId), 'suspendedAt', '2026-01-01T00:00:00Z');
    expect(await from('198.51.100.1', suspended.key)).toBe(401);
    await revoke(revoked);
    expect(await from('198.51.100.1', revoked.key)).toBe(401);
    await expect.poll(() => use(revoked), reported).toHaveLength(1);
    expect(await use(suspended)).toEqual([]);
    expect(logOf(suspended).join('')).toContain('"code":"account_suspended"');
  });

  test('of an expired key, and of one over the limit of its address, counts as well', async () => {
    const expired = await kit.issue();
    await kit.redis.hset(redisKeys.apiKey(expired), 'expiresAt', '2026-01-01T00:00:00Z');
    expect(await from('198.51.100.2', expired.key)).toBe(401);
    await expect.poll(async () => (await use(expired))[0]?.requests, reported).toBe(1);
    expect(logOf(expired)[0]).toContain('"code":"expired_api_key"');
    await kit.redis.hset(redisKeys.plan('anonymous'), 'minute', 1);
    await expect.poll(() => from('198.51.100.2', expired.key)).toBe(429);
    await kit.redis.hset(redisKeys.plan('anonymous'), 'minute', 1_000_000);
    await expect.poll(async () => (await use(expired))[0]?.requests, reported).toBeGreaterThan(1);
    expect(logOf(expired).at(-1)).toContain('"code":"rate_limit_exceeded"');
  });

  test('a valid and an unknown key have none', async () => {
    const issued = await kit.issue();
    const unknown = await kit.issue();
    await kit.redis.del(redisKeys.apiKey(unknown));
    expect(await from('198.51.100.3', issued.key)).toBe(200);
    expect(await from('198.51.100.3', unknown.key)).toBe(401);
    const revoked = await kit.issue();
    await revoke(revoked);
    expect(await from('198.51.100.3', revoked.key)).toBe(401);
    await expect.poll(() => use(revoked), reported).toHaveLength(1);
    expect([await use(issued), await use(unknown)]).toEqual([[], []]);
  });

  test('keeps the ten latest addresses, and expires with the record', async () => {
    const issued = await kit.issue();
    await revoke(issued);
    await kit.redis.expire(redisKeys.apiKey(issued), 5000);
    for (let index = 1; index <= 12; index += 1)
      expect(await from(`198.51.100.${index}`, issued.key)).toBe(401);
    const last = async () => (await use(issued)).map(({ address }) => address);
    await expect.poll(async () => (await last())[0], reported).toBe('198.51.100.12');
    expect((await last()).toSorted()).toEqual(
      Array.from({ length: 10 }, (_, index) => `198.51.100.${index + 3}`).toSorted(),
    );
    const ttl = await kit.redis.ttl(redisKeys.refusedUse(issued));
    expect(ttl).toBeGreaterThan(4900);
    expect(ttl).toBeLessThanOrEqual(5000);
  });

  test('is not more than a read of the record a request, and one command a key every five seconds', async () => {
    const issued = await kit.issue();
    await revoke(issued);
    expect(await from('198.51.100.5', issued.key)).toBe(401);
    await expect.poll(() => use(issued), reported).toHaveLength(1);
    const monitor = await monitorRedis(kit.server.port);
    for (let times = 0; times < 20; times += 1) expect(await from('198.51.100.5', issued.key)).toBe(401);
    await expect.poll(async () => (await use(issued))[0]?.requests, reported).toBe(21);
    monitor.close();
    const own = monitor.commands.filter(
      ({ args, source }) => source !== 'lua' && args.some((arg) => arg.includes(issued.keyHash)),
    );
    const isOf = (key: string) => own.filter(({ args }) => args.includes(key));
    expect(
      isOf(redisKeys.refusedUse(issued)).filter(({ args }) => args[0] === 'evalsha').length,
    ).toBeLessThanOrEqual(3);
    expect(isOf(redisKeys.apiKey(issued)).length).toBeLessThanOrEqual(20 + 3);
  });

  test('what was edited by hand is replaced or left out', async () => {
    const issued = await kit.issue();
    await revoke(issued);
    const key = redisKeys.refusedUse(issued);
    await kit.redis.set(key, 'text');
    expect(await use(issued)).toEqual([]);
    expect(await from('198.51.100.6', issued.key)).toBe(401);
    await expect.poll(() => use(issued), reported).toHaveLength(1);
    await kit.redis.hset(key, '198.51.100.6', 'many', 'somewhere', '');
    expect(await use(issued)).toEqual([]);
    expect(await from('198.51.100.6', issued.key)).toBe(401);
    await expect.poll(() => use(issued), reported).toMatchObject([{ address: '198.51.100.6', requests: 1 }]);
  });
});
