import { beforeAll, describe, expect, test } from 'vitest';
import { dayNumberOf, utcDate } from '../../gateway/limits/utc-day.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import type { IssuedKey } from '../support/kits/keys.ts';
import { startOpsKit } from '../support/kits/ops-kit.ts';
import { shared } from '../support/kits/shared.ts';

describe('ops usage', { timeout: 120_000 }, () => {
  let gone: IssuedKey;
  /** Dates of yesterday, as YYYYMMDD and as ISO 8601. */
  const yesterday = utcDate(dayNumberOf(Date.now()) - 1);
  const iso = (date: string) => `${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6)}`;
  const today = iso(utcDate(dayNumberOf(Date.now())));

  const record = ({ customerId }: IssuedKey, date: string, fields: Record<string, string | number>) =>
    kit.redis.hset(
      redisKeys.usageMonth(customerId, date.slice(0, 6)),
      Object.fromEntries(
        Object.entries(fields).map(([name, value]) => [name.replace('DD', date.slice(6)), value]),
      ),
    );

  const kit = shared(startOpsKit);
  const acme = shared(() => kit.issue({ name: '=ACME, "Ltd"', plan: 'pro' }));
  beforeAll(async () => {
    await record(acme, yesterday, {
      id: acme.customerId,
      plan: 'free',
      pDD: 'free',
      DD: 120,
      rDD: 4,
    });
    await kit.pets(acme.key);
    gone = await kit.issue({ name: 'Gone' });
    await record(gone, yesterday, { id: gone.customerId, name: 'Gone', plan: 'free', pDD: 'free', DD: 3 });
    await kit.redis.zadd(redisKeys.usageRanking(yesterday.slice(0, 6)), 3, gone.customerId);
    await kit.redis.del(redisKeys.apiKey(gone), redisKeys.customer(gone.customerId));
  });

  const ofYesterday = { date: iso(yesterday), plan: 'free', served: 120, refused: 4 };
  const ofToday = { date: today, plan: 'pro', served: 1, refused: 0 };

  test('show prints the last days of a customer, oldest first', async () => {
    const show = (...days: string[]) => kit.json<object[]>('usage', 'show', acme.customerId, ...days);
    const days = await show('--days', '3');
    expect(days).toHaveLength(3);
    expect(days.slice(1)).toEqual([
      { ...ofYesterday, units: 120 },
      { ...ofToday, units: 1 },
    ]);
    expect(await show()).toHaveLength(30);
    const table = await kit.run('usage', 'show', acme.customerId, '--days', '2');
    expect(table.stdout).toMatch(
      new RegExp(`^DATE .+\n${iso(yesterday)} +free +120 +4\n${today} +pro +1 +0\n$`),
    );
    expect(await kit.run('usage', 'show', acme.customerId, '--days', '2', '--output', 'csv')).toEqual({
      code: 0,
      stderr: '',
      stdout: `date,plan,served,refused,units\n${iso(yesterday)},free,120,4,120\n${today},pro,1,0,1\n`,
    });
  });

  test('show works for a customer whose record is gone', async () => {
    expect(await kit.json('usage', 'show', gone.customerId, '--days', '2')).toMatchObject([
      { served: 3 },
      { served: 0 },
    ]);
  });

  test('export prints a row for each key and day with use, also of a key that is in no index', async () => {
    await kit.redis.hdel(redisKeys.apiKeyIds, gone.id);
    await kit.redis.zrem(redisKeys.apiKeysByCreation, gone.id);
    await kit.redis.zrem(redisKeys.customers, gone.customerId);
    const rows = await kit.json<object[]>('usage', 'export', '--from', iso(yesterday));
    expect(rows).toEqual([
      { id: acme.customerId, name: '=ACME, "Ltd"', ...ofYesterday, units: 120 },
      { id: acme.customerId, name: '=ACME, "Ltd"', ...ofToday, units: 1 },
      {
        id: gone.customerId,
        name: 'Gone',
        date: iso(yesterday),
        plan: 'free',
        served: 3,
        units: 3,
        refused: 0,
      },
    ]);
    const range = ['--from', iso(yesterday), '--to', iso(yesterday)];
    const csv = await kit.run('usage', 'export', ...range);
    expect(csv).toEqual({
      code: 0,
      stderr: '',
      stdout:
        'id,name,date,plan,served,refused,units\n' +
        `${acme.customerId},"'=ACME, ""Ltd""",${iso(yesterday)},free,120,4,120\n` +
        `${gone.customerId},Gone,${iso(yesterday)},free,3,0,3\n`,
    });
    expect(await kit.run('usage', 'export', '--output', 'csv', ...range)).toEqual(csv);
    const array = await kit.run('usage', 'export', '--from', iso(yesterday), '--output', 'json');
    expect(JSON.parse(array.stdout)).toEqual(rows);
  });

  test.each([
    [['usage', 'export', '--from', '2026-13-01'], /It has to be a date such as 2026-11-22/],
    [['usage', 'show', 'cus_x', '--days', '401'], /It has to be a whole number from 1 to 400/],
    [['usage', 'export', '--from', '2026-11-02', '--to', '2026-11-01'], /from is after to/],
    [['usage', 'show', 'key_x'], /that is not the id of a customer/],
  ])('%j is refused and changes nothing', async (args, message) => {
    const before = await kit.redis.hgetall(redisKeys.usagePolicy);
    const { code, stdout, stderr } = await kit.run(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(await kit.redis.hgetall(redisKeys.usagePolicy)).toEqual(before);
  });
});
