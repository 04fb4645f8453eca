import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { keyIssuer } from '../support/kits/keys.ts';
import { startOpsKit, type OpsKit } from '../support/kits/ops-kit.ts';

const total = 1_000_000;
const customers = 300_000;
const batch = 500;
const today = () => new Date().toISOString().slice(0, 10).replaceAll('-', '');

/** Writes records and indexes like api-key-store.ts, and counters like consume.lua. Ten keys have three customers. */
const fillScript = `
  for n = tonumber(ARGV[1]), tonumber(ARGV[1]) + tonumber(ARGV[2]) - 1 do
    local keyHash = redis.sha1hex(n) .. string.sub(redis.sha1hex('x' .. n), 1, 24)
    local id = 'key_' .. string.sub(redis.sha1hex('id' .. n), 1, 18)
    local m = math.floor(n * 3 / 10)
    local customer = 'cus_' .. string.sub(redis.sha1hex('customer' .. m), 1, 18)
    local name, createdAt = 'Customer number ' .. n, '2026-11-21T05:27:48.258Z'
    redis.call('HSET', 'gw:customer:{' .. customer .. '}', 'id', customer, 'name', name, 'createdAt', createdAt,
      'plan', 'free', 'rev', 1)
    redis.call('HSET', 'gw:key:{' .. customer .. '}:' .. keyHash, 'id', id, 'name', name,
      'hint', 'pets_Ab1C\u{2026}', 'createdAt', createdAt)
    redis.call('SADD', 'gw:customer-keys:{' .. customer .. '}', id)
    redis.call('SET', 'gw:key-customer:' .. keyHash, customer)
    redis.call('HSET', 'gw:key-ids', id, customer .. ':' .. keyHash)
    redis.call('ZADD', 'gw:keys', 1795000000000 + n, id)
    redis.call('ZADD', 'gw:customers', 1795000000000 + m, customer)
    redis.call('SET', 'gw:minute:{' .. customer .. '}', m % 50, 'PX', 3600000)
    redis.call('SET', 'gw:day:{' .. customer .. '}:' .. ARGV[3], m % 1000, 'EX', 86400)
  end
`;

/** Long enough for a busy machine. */
const timeoutMs = 600_000;

describe(
  'with 1,000,000 keys of 300,000 customers in Redis',
  { tags: ['redis-server'], timeout: timeoutMs },
  () => {
    let kit: OpsKit;
    let bytesPerKey: number;

    const usedMemory = async () =>
      Number(/^used_memory:(\d+)/m.exec(await kit.server.redis.info('memory'))?.[1]);
    const calls = async (command: string) => {
      const stats = await kit.server.redis.info('commandstats');
      return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
    };

    beforeAll(async () => {
      kit = await startOpsKit();
      const before = await usedMemory();
      for (let start = 0; start < total; start += batch) {
        await kit.server.redis.eval(fillScript, 0, start, batch, today());
      }
      bytesPerKey = ((await usedMemory()) - before) / total;
    }, timeoutMs);

    afterAll(() => kit[Symbol.asyncDispose]());

    test('a key takes 400 to 1,300 bytes of Redis memory, with its part of a customer', async () => {
      const [id = ''] = await kit.redis.zrange(redisKeys.apiKeysByCreation, '7', '7');
      const { place } = await keyIssuer(kit.redis).store.show(id);
      const { customerId } = place;
      const parts = {
        customer: redisKeys.customer(customerId),
        record: redisKeys.apiKey(place),
        minute: redisKeys.openWindow(customerId, 'minute'),
        day: redisKeys.day(customerId, today()),
      };
      const bytes = await Promise.all(
        Object.entries(parts).map(async ([name, key]) => `${name} ${await kit.redis.memory('USAGE', key)}`),
      );
      console.log(
        `a key with its indexes and counters: ${Math.round(bytesPerKey)} bytes (${bytes.join(', ')})`,
      );
      expect(bytesPerKey).toBeGreaterThan(400);
      expect(bytesPerKey).toBeLessThan(1300);
    });

    test('keys list prints after its first page, and scans nothing', async () => {
      const connected = () => kit.server.redis.client('LIST').then((list) => String(list).split('\n').length);
      const before = await connected();
      await kit.server.redis.config('RESETSTAT');
      const child = spawn(process.execPath, ['gateway/ops/main.ts', 'keys', 'list'], {
        cwd: fileURLToPath(new URL('../..', import.meta.url)),
        env: { REDIS_URL: kit.server.url },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [first] = (await once(child.stdout, 'data')) as [Buffer];
      // While its output is not read, the command must not read further pages.
      child.stdout.pause();
      expect(first.toString()).toMatch(/^ID +KEY/);
      expect(await calls('hgetall')).toBeLessThan(20_000);
      child.kill('SIGKILL');
      // Redis executes what it has received of it all the same: the next test must not count that.
      await expect.poll(connected, { timeout: 30_000 }).toBe(before);
      for (const command of ['scan', 'keys', 'hscan', 'zscan']) expect(await calls(command)).toBe(0);
    });

    test('a page in the middle is as cheap as the first', async () => {
      const [middle] = await kit.redis.zrange(redisKeys.apiKeysByCreation, '500000', '500000');
      await kit.server.redis.config('RESETSTAT');
      const page = await kit.json<{ name: string }[]>(
        'keys',
        'list',
        '--limit',
        '3',
        '--after',
        middle ?? '',
      );
      expect(page.map(({ name }) => name)).toEqual([
        'Customer number 500001',
        'Customer number 500002',
        'Customer number 500003',
      ]);
      // Three hashes a key: its record, that of its customer, and its use. The gateway reads some each second meanwhile.
      expect(await calls('hgetall')).toBeLessThan(200);
    });

    test('a dry run counts all customers', async () => {
      const preview = await kit.json('plans', 'set', 'free', '--minute', '40', '--day', '900', '--dry-run');
      expect(preview).toMatchObject({ customers, above: [] });
    });

    test('a page of customers is read without a scan', async () => {
      await kit.server.redis.config('RESETSTAT');
      const [first] = await kit.redis.zrange(redisKeys.customers, '0', '0');
      expect(await kit.json('customers', 'show', first ?? '')).toMatchObject({ keys: 4, plan: 'free' });
      expect(await kit.redis.zcard(redisKeys.customers)).toBe(customers);
      for (const command of ['scan', 'keys', 'hscan', 'zscan']) expect(await calls(command)).toBe(0);
    });

    test('a gateway serves requests without warnings', async () => {
      // Ignores the log from the time when filling kept Redis busy.
      const before = kit.gateway.output().length;
      const { key } = await kit.issue();
      expect((await kit.pets(key)).status).toBe(200);
      expect((await send(`${kit.gateway.adminUrl}/readyz`)).json).toMatchObject({ redis: 'ok' });
      expect(kit.gateway.output().slice(before)).not.toMatch(/"level":[456]0/);
    });
  },
);
