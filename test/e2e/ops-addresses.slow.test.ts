import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateApiKey } from '../../gateway/api-keys/api-key-format.ts';
import type { BlockView } from '../../gateway/operations/address-blocks.ts';
import type { BusyAddress } from '../../gateway/operations/busiest-addresses.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { startOpsKit, type OpsKit } from '../support/kits/ops-kit.ts';

describe('ops addresses', () => {
  let kit: OpsKit;

  beforeAll(async () => {
    kit = await startOpsKit({ TRUST_PROXY: 'loopback' });
  });

  afterAll(() => kit[Symbol.asyncDispose]());

  const statusFrom = async (address: string) =>
    (await send(`${kit.gateway.url}/v1/pets`, { headers: { 'x-forwarded-for': address } })).status;

  test('top shows the most refused addresses', async () => {
    for (let times = 0; times < 4; times += 1) expect(await statusFrom('198.51.100.7')).toBe(401);
    expect(await statusFrom('2001:db8:0:12::1')).toBe(401);
    const top = () => kit.json<BusyAddress[]>('addresses', 'top');
    await expect
      .poll(async () => (await top()).map(({ address, refused }) => [address, refused]), { timeout: 20_000 })
      .toEqual([
        ['198.51.100.7', 4],
        ['2001:db8::/56', 1],
      ]);
    const { stdout } = await kit.run('addresses', 'top', '--count', '1');
    expect(stdout).toMatch(/^ADDRESS +REFUSED\/MIN +WITHOUT KEY +OVER LIMIT +BLOCKED +BLOCKED UNTIL\n/);
    expect(stdout).toMatch(/^198\.51\.100\.7 +4 +4 +0 +0 +-$/m);
    const csv = await kit.run('addresses', 'top', '--output', 'csv');
    expect(csv.stdout).toContain(
      'address,refused,unauthenticated,limited,blocked,blockedUntil\n198.51.100.7,4,4,0,0,',
    );
  });

  test('block refuses a network within a second, blocked lists it, and unblock ends it', async () => {
    const block = ['addresses', 'block', '203.0.113.0/24', '--for', '1h', '--reason', 'credential stuffing'];
    const made = await kit.json<BlockView>(...block, '--as', 'Grace');
    expect(made).toMatchObject({ network: '203.0.113.0/24', reason: 'credential stuffing' });
    expect(Date.parse(made.endsAt)).toBeGreaterThan(Date.now() + 3_590_000);
    await expect.poll(() => statusFrom('203.0.113.200')).toBe(429);
    expect(await statusFrom('203.0.114.1')).toBe(401);
    expect(await kit.json('addresses', 'blocked')).toEqual([made]);
    expect((await kit.run('addresses', 'blocked')).stdout).toMatch(
      /^NETWORK +ENDS +REASON\n203\.0\.113\.0\/24 +\S+Z +credential stuffing\n$/,
    );
    expect(await kit.json('addresses', 'unblock', '203.0.113.0/24')).toEqual(made);
    await expect.poll(() => statusFrom('203.0.113.200')).toBe(401);
    expect(await kit.json('addresses', 'blocked')).toEqual([]);
    const audit = await kit.run('audit', '--action', 'addresses');
    expect(audit.stdout).toMatch(/Grace +addresses\.block +203\.0\.113\.0\/24/);
    expect(audit.stdout).toMatch(/addresses\.unblock +203\.0\.113\.0\/24/);
  });

  test.each([
    [['203.0.113.5/24', '--for', '1h', '--reason', 'x'], 'did you mean 203.0.113.0/24'],
    [['everybody', '--for', '1h', '--reason', 'x'], 'everybody is not an IP address or a network such as'],
    [['0.0.0.0/0', '--for', '1h', '--reason', 'x'], 'needs a prefix length from 8 to 32'],
    [['203.0.113.7', '--reason', 'x'], '--for <duration>'],
    [['203.0.113.7', '--for', '1h'], '--reason <text>'],
    [['203.0.113.7', '--for', 'long', '--reason', 'x'], 'not a duration'],
    [['203.0.113.7', '--for', '1h', '--reason', ' '], 'has to be 1 to 100 characters'],
  ])('block %j is refused, and changes nothing', async (args, message) => {
    const { code, stderr } = await kit.run('addresses', 'block', ...args);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
    expect(await kit.redis.exists(redisKeys.addressBlocks)).toBe(0);
  });

  test('an API key in place of a network or a reason is refused without being repeated', async () => {
    const key = generateApiKey();
    for (const args of [
      ['block', key, '--for', '1h', '--reason', 'x'],
      ['block', '203.0.113.7', '--for', '1h', '--reason', key],
      ['unblock', key],
    ]) {
      const { code, stderr } = await kit.run('addresses', ...args);
      expect({ code, repeats: stderr.includes(key.slice(0, 15)) }).toEqual({ code: 2, repeats: false });
    }
  });

  test('a block that was edited by hand into something invalid is a warning, and can be removed', async () => {
    await kit.redis.hset(redisKeys.addressBlocks, '203.0.113.7', 'for ever');
    const { code, stderr } = await kit.run('addresses', 'blocked');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        'ops: warning: 203.0.113.7 needs an end in ISO 8601 and a reason, such as "2027-01-31T12:00:00Z credential stuffing": it is "for ever"; gateways keep the last valid block\n',
    });
    expect((await kit.run('addresses', 'unblock', '203.0.113.7')).code).toBe(0);
    expect((await kit.run('addresses', 'unblock', '203.0.113.7')).stderr).toContain(
      '203.0.113.7 is not blocked',
    );
  });
});
