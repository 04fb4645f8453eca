import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { blockAddress, listAddressBlocks, unblockAddress } from '../../gateway/operations/address-blocks.ts';
import { readAudit } from '../../gateway/operations/audit-log.ts';
import { readBusiestAddresses } from '../../gateway/operations/busiest-addresses.ts';
import { anonymousPlan } from '../../gateway/plans/plan-settings.ts';
import { createAuditLog } from '../../gateway/redis/record-change.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { send, sendRaw } from '../support/http/http.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';
import { monitorRedis } from '../support/stores/redis-monitor.ts';

describe('refused addresses', { tags: ['redis-server'] }, () => {
  let kit: GatewayKit;

  beforeAll(async () => {
    kit = await startGatewayKit({ TRUST_PROXY: 'loopback' });
  });

  afterAll(() => kit[Symbol.asyncDispose]());

  const from = (address: string, key?: string, path = '/v1/pets') =>
    send(kit.gateway.url + path, {
      headers: { 'x-forwarded-for': address },
      ...(key === undefined ? {} : { key }),
    });
  const session = () => ({
    redis: kit.redis,
    audit: createAuditLog({ redis: kit.redis, who: 'tests' }),
    now: () => Date.now(),
  });
  const metric = async (series: string) => {
    const { text } = await send(`${kit.gateway.adminUrl}/metrics`);
    const line = text.split('\n').find((each) => each.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.slice(series.length + 1));
  };
  const statusOf = async (...request: Parameters<typeof from>) => (await from(...request)).status;
  const reported = { timeout: 20_000 };

  async function blocked<T>(network: string, use: () => Promise<T>): Promise<T> {
    await blockAddress(session(), network, 3_600_000, 'tests');
    const [first = ''] = network.split('/');
    await expect.poll(() => statusOf(first)).toBe(429);
    try {
      return await use();
    } finally {
      await unblockAddress(session(), network);
      await expect.poll(() => statusOf(first)).toBe(401);
    }
  }

  test('refusals without a key count under the plan anonymous, and by address and IPv6 network', async () => {
    await kit.redis.hset(redisKeys.plan(anonymousPlan), 'minute', 5);
    await expect.poll(() => metric('gateway_plan_limit{plan="anonymous",window="minute"}')).toBe(5);
    const codes = await Promise.all(Array.from({ length: 40 }, () => statusOf('198.51.100.7')));
    expect(codes.filter((code) => code === 401)).toHaveLength(5);
    expect(codes.filter((code) => code === 429)).toHaveLength(35);
    expect(await statusOf('2001:db8:0:12::1')).toBe(401);
    expect(await statusOf('2001:db8:0:34::1')).toBe(401);
    await kit.redis.hset(redisKeys.plan(anonymousPlan), 'minute', 1_000_000);
    expect(await metric('gateway_quota_refusals_total{plan="anonymous",window="minute"}')).toBe(35);
    expect(await metric('gateway_unauthenticated_requests_total{plan="anonymous"}')).toBe(7);
    const none = { blocked: 0, blockedUntil: null };
    await expect
      .poll(() => readBusiestAddresses(session(), 10), reported)
      .toEqual([
        { address: '198.51.100.7', refused: 40, unauthenticated: 5, limited: 35, ...none },
        { address: '2001:db8::/56', refused: 2, unauthenticated: 2, limited: 0, ...none },
      ]);
    expect(await readBusiestAddresses(session(), 1)).toHaveLength(1);
  });

  test('a served request, and one that is refused by its key, are of no address', async () => {
    const before = await metric('gateway_unauthenticated_requests_total{plan="anonymous"}');
    const { key } = await kit.issue({ plan: 'pro', minute: 1 });
    expect(await statusOf('198.51.100.8', key)).toBe(200);
    expect(await statusOf('198.51.100.8', key)).toBe(429);
    expect(await metric('gateway_unauthenticated_requests_total{plan="anonymous"}')).toBe(before);
  });

  test('all requests of a blocked network get 429 until the end of the block, with or without a key', async () => {
    const { key } = await kit.issue();
    await blocked('203.0.113.0/24', async () => {
      for (const request of [
        () => from('203.0.113.7'),
        () => from('203.0.113.255', key),
        () => from('203.0.113.7', key, '/v1/usage'),
        () => from('203.0.113.7', undefined, '/docs'),
      ]) {
        const response = await request();
        expect(response.status).toBe(429);
        expect(response.json).toMatchObject({ code: 'address_blocked', status: 429 });
        expect(response.text).not.toContain('tests');
        expect(Number(response.header('Retry-After'))).toBeGreaterThan(3500);
        expect(Number(response.header('Retry-After'))).toBeLessThanOrEqual(3600);
        expect(response.header('X-RateLimit-Window')).toBe('ip');
        expect(response.header('X-RateLimit-Remaining')).toBe('0');
        expect(Number(response.header('X-RateLimit-Reset'))).toBeGreaterThan(Date.now() / 1000 + 3500);
      }
      expect(await statusOf('203.0.114.7', key)).toBe(200);
      // The address of the proxy itself is not blocked.
      expect((await send(`${kit.gateway.url}/v1/pets`, { key })).status).toBe(200);
      expect(await metric('gateway_blocked_requests_total{plan="anonymous"}')).toBeGreaterThanOrEqual(4);
      expect(await metric('gateway_errors_total{code="address_blocked"}')).toBeGreaterThanOrEqual(4);
      await expect.poll(kit.gateway.output).toMatch(/"decision":"address_blocked","code":"address_blocked"/);
      const busy = async () =>
        (await readBusiestAddresses(session(), 10)).find(({ address }) => address === '203.0.113.7');
      await expect
        .poll(busy, reported)
        .toMatchObject({ blocked: 3, blockedUntil: expect.any(String) as unknown });
    });
    expect(await statusOf('203.0.113.7', key)).toBe(200);
  });

  test('requests of a blocked address cost no Redis command', async () => {
    const { key, keyHash } = await kit.issue();
    await blocked('2001:db8:77::/48', async () => {
      const monitor = await monitorRedis(kit.server.port);
      for (let times = 0; times < 50; times += 1) {
        expect(await statusOf('2001:db8:77:1::1', key)).toBe(429);
        expect(await statusOf('2001:db8:77:1::2')).toBe(429);
      }
      await kit.redis.echo('the end');
      const isEnd = (args: readonly string[]) => args[0] === 'echo' && args[1] === 'the end';
      await expect.poll(() => monitor.commands.some(({ args }) => isEnd(args))).toBe(true);
      monitor.close();
      const own = monitor.commands.filter(({ args }) =>
        args.some((arg) => arg.includes(keyHash) || arg.startsWith(redisKeys.anonymousPrefix)),
      );
      expect(own).toEqual([]);
    });
  });

  test('what became no request is refused as before, and costs a blocked address no Redis command', async () => {
    await blockAddress(session(), '127.0.0.1', 3_600_000, 'tests');
    await expect.poll(async () => (await send(`${kit.gateway.url}/v1/pets`)).status).toBe(429);
    const monitor = await monitorRedis(kit.server.port);
    expect(await sendRaw(kit.gateway.port, 'nonsense\r\n\r\n')).toContain('400 Bad Request');
    await kit.redis.echo('the end of it');
    await expect.poll(() => monitor.commands.some(({ args }) => args[1] === 'the end of it')).toBe(true);
    monitor.close();
    expect(monitor.commands.filter(({ args }) => args.some((arg) => arg.includes('gw:anonymous')))).toEqual(
      [],
    );
    await unblockAddress(session(), '127.0.0.1');
    await expect.poll(async () => (await send(`${kit.gateway.url}/v1/pets`)).status).toBe(401);
  });

  test('a block ends by itself, and the next one drops what has ended', async () => {
    await blockAddress(session(), '203.0.113.9', 2000, 'two seconds');
    await expect.poll(() => statusOf('203.0.113.9')).toBe(429);
    await expect.poll(() => statusOf('203.0.113.9'), { timeout: 5000 }).toBe(401);
    expect((await listAddressBlocks(session())).blocks).toEqual([]);
    expect(await kit.redis.hkeys(redisKeys.addressBlocks)).toEqual(['203.0.113.9']);
    await blockAddress(session(), '203.0.113.10', 60_000, 'next');
    expect(await kit.redis.hkeys(redisKeys.addressBlocks)).toEqual(['203.0.113.10']);
    await unblockAddress(session(), '203.0.113.10');
  });

  test('of several blocks of an address, the last one to end counts', async () => {
    await blockAddress(session(), '203.0.113.0/24', 60_000, 'short');
    await blockAddress(session(), '203.0.113.11', 7_200_000, 'long');
    await expect
      .poll(async () => Number((await from('203.0.113.11')).headers['retry-after']))
      .toBeGreaterThan(7000);
    await expect
      .poll(async () => Number((await from('203.0.113.12')).headers['retry-after']))
      .toBeLessThan(61);
    await unblockAddress(session(), '203.0.113.11');
    await unblockAddress(session(), '203.0.113.0/24');
    await expect.poll(() => statusOf('203.0.113.11')).toBe(401);
  });

  test('a block that is edited by hand into something invalid stays as it was, and is logged and counted', async () => {
    const { addressBlocks } = redisKeys;
    const issues = () => metric(`gateway_bad_settings{key="${addressBlocks}"}`);
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
    await kit.redis.hset(addressBlocks, '203.0.113.20', `${inAnHour} by hand`);
    await expect.poll(() => statusOf('203.0.113.20')).toBe(429);
    for (const text of ['tomorrow scraping', inAnHour, '']) {
      await kit.redis.hset(addressBlocks, '203.0.113.20', text);
      await expect.poll(issues).toBe(1);
      expect(await statusOf('203.0.113.20')).toBe(429);
      await kit.redis.hset(addressBlocks, '203.0.113.20', `${inAnHour} by hand`);
      await expect.poll(issues).toBe(0);
    }
    await kit.redis.hset(
      addressBlocks,
      '203.0.113.5/24',
      `${inAnHour} slip`,
      'everybody',
      `${inAnHour} slip`,
    );
    await expect.poll(issues).toBe(2);
    expect(await statusOf('203.0.113.5')).toBe(401);
    await expect
      .poll(kit.gateway.output)
      .toMatch(
        /"level":40.*203\.0\.113\.5\/24 is an address within a network: did you mean 203\.0\.113\.0\/24/,
      );
    expect((await listAddressBlocks(session())).issues).toHaveLength(2);
    await unblockAddress(session(), '203.0.113.5/24');
    await unblockAddress(session(), 'everybody');
    await expect.poll(issues).toBe(0);
    await kit.redis.del(addressBlocks);
    await expect.poll(() => statusOf('203.0.113.20')).toBe(401);
    await blockAddress(session(), '203.0.113.21', 60_000, 'before the wrong type');
    await expect.poll(() => statusOf('203.0.113.21')).toBe(429);
    await kit.redis.set(addressBlocks, 'text');
    await expect.poll(issues).toBe(1);
    expect(await statusOf('203.0.113.21')).toBe(429);
    await expect(blockAddress(session(), '203.0.113.22', 60_000, 'x')).rejects.toThrow('is no longer a hash');
    await kit.redis.del(addressBlocks);
    await expect.poll(() => statusOf('203.0.113.21')).toBe(401);
  });

  test('blocks and their ends are audited, and nothing else is', async () => {
    const before = await kit.redis.xlen(redisKeys.audit);
    await blockAddress(session(), '198.51.100.0/24', 60_000, 'first');
    await blockAddress(session(), '198.51.100.0/24', 120_000, 'second');
    await expect(blockAddress(session(), '198.51.100.1/24', 60_000, 'x')).rejects.toThrow(
      'did you mean 198.51.100.0/24',
    );
    await expect(unblockAddress(session(), '198.51.100.77')).rejects.toThrow(
      '198.51.100.77 is not blocked by itself, but within 198.51.100.0/24',
    );
    await unblockAddress(session(), '198.51.100.0/24');
    await expect(unblockAddress(session(), '198.51.100.0/24')).rejects.toThrow(
      '198.51.100.0/24 is not blocked',
    );
    expect(await kit.redis.xlen(redisKeys.audit)).toBe(before + 3);
    const network = '198.51.100.0/24';
    const [first, replaced, unblocked] = await readAudit(kit.redis, 3, {});
    expect(first).toMatchObject({
      action: 'addresses.block',
      target: network,
      before: null,
      after: { reason: 'first' },
    });
    expect(replaced).toMatchObject({ before: { reason: 'first' }, after: { reason: 'second' } });
    expect(unblocked).toMatchObject({
      action: 'addresses.unblock',
      before: { reason: 'second' },
      after: null,
    });
  });

  test('a network that was added by hand in another spelling is replaced, and ends, with the first', async () => {
    const { addressBlocks } = redisKeys;
    const byHand = () =>
      kit.redis.hset(
        addressBlocks,
        '2001:DB8:0:0::/64',
        `${new Date(Date.now() + 3_600_000).toISOString()} by hand`,
      );
    await blockAddress(session(), '2001:db8::/64', 60_000, 'by command');
    await byHand();
    await unblockAddress(session(), '2001:db8::/64');
    expect(await kit.redis.hkeys(addressBlocks)).toEqual([]);
    await blockAddress(session(), '2001:db8::/64', 60_000, 'first');
    await byHand();
    await blockAddress(session(), '2001:db8::/64', 60_000, 'second');
    expect(await kit.redis.hkeys(addressBlocks)).toEqual(['2001:db8::/64']);
    await unblockAddress(session(), '2001:db8::/64');
  });

  test('there are at most 500 blocks', async () => {
    const inAnHour = `${new Date(Date.now() + 3_600_000).toISOString()} many`;
    const many = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [`10.0.${index % 250}.${Math.floor(index / 250)}`, inAnHour]),
    );
    await kit.redis.hset(redisKeys.addressBlocks, many);
    await expect(blockAddress(session(), '10.9.9.9', 60_000, 'one more')).rejects.toThrow(
      'there are 500 blocks already',
    );
    await blockAddress(session(), '10.0.7.1', 60_000, 'replaces one');
    await kit.redis.del(redisKeys.addressBlocks);
  });
});
