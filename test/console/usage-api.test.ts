import { beforeAll, describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { createUsageTotals } from '../../gateway/quota/use-counts.ts';
import { startConsoleApi } from '../support/kits/console-api-kit.ts';
import { shared } from '../support/kits/shared.ts';

interface Month {
  month: string;
  customers: number;
  served: number;
  refused: number;
  largest: { id: string; name: string; plan: string | null; served: number }[];
}

const served = { outcome: 'allowed' } as const;
const refused = { outcome: 'limited' } as const;

const now = new Date();
/** YYYY-MM of some months ago. */
const monthAgo = (count: number) =>
  new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - count, 1)).toISOString().slice(0, 7);

describe('the API of the use by month', () => {
  const ids: string[] = [];

  const started = shared(startConsoleApi);
  const viewer = shared(() => started.signIn({ role: 'viewer' }));
  beforeAll(async () => {
    let nowMs = 0;
    const totals = createUsageTotals({
      redis: started.redis,
      usagePolicy: { current: () => ({ retentionDays: 400 }) },
      now: () => nowMs,
    });
    const repeat = (times: number, count: () => void) => Array.from({ length: times }, count);
    for (let number = 1; number <= 12; number += 1) {
      const { customerId: id } = await started.issue({ name: `Customer ${number}`, plan: 'pro' });
      ids.push(id);
      await started.redis.hset(redisKeys.usageMonth(id, monthAgo(2).replace('-', '')), {
        id,
        p03: 'free',
        '03': number,
        p04: 'pro',
        '04': 100 * number,
        r04: number,
        // The first one has called operations that cost more.
        ...(number === 1 ? { x04: 50 } : {}),
      });
      nowMs = Date.parse(`${monthAgo(2)}-03T12:00:00Z`);
      repeat(number, () => totals.count({ customerId: id, plan: 'free' }, served, 1));
      nowMs = Date.parse(`${monthAgo(2)}-04T12:00:00Z`);
      const pro = { customerId: id, plan: 'pro' };
      repeat(100 * number - (number === 1 ? 50 : 0), () => totals.count(pro, served, number === 1 ? 2 : 1));
      repeat(number, () => totals.count(pro, refused, 1));
      await totals.report();
      await started.redis.hset(redisKeys.usageMonth(id, monthAgo(1).replace('-', '')), {
        id,
        p01: 'pro',
        '01': 1,
        r02: 2,
      });
      nowMs = Date.parse(`${monthAgo(1)}-01T12:00:00Z`);
      totals.count(pro, served, 1);
      // A request that failed later.
      totals.count(pro, served, 7);
      totals.takeBack(pro, 7);
      repeat(2, () => totals.count(pro, refused, 1));
      await totals.report();
    }
    const refusedOnly = await started.issue({ name: '=Refused' });
    ids.push(refusedOnly.customerId);
    await started.redis.hset(redisKeys.usageMonth(refusedOnly.customerId, monthAgo(1).replace('-', '')), {
      id: refusedOnly.customerId,
      p15: 'free',
      r15: 1,
    });
  });

  test('has the use of each customer in a month, in one response, also for programs', async () => {
    const { send } = await started.issueToken(['usage:read']);
    const { status, body } = await send('GET', `/api/usage/customers?month=${monthAgo(2)}`);
    expect(status).toBe(200);
    const { items, next } = body as { items: { id: string }[]; next: null };
    expect(next).toBeNull();
    expect(items.map(({ id }) => id)).toEqual(ids.slice(0, 12));
    expect(items[0]).toEqual({
      id: ids[0],
      name: 'Customer 1',
      plan: 'pro',
      served: 51,
      units: 101,
      refused: 1,
    });
    expect(items[11]).toEqual({ id: ids[11], name: 'Customer 12', plan: 'pro', served: 1212, refused: 12 });
    const unused = await send('GET', `/api/usage/customers?month=${monthAgo(5)}`);
    expect(unused.body).toEqual({ items: [], next: null });
    expect(await send('GET', '/api/usage/customers?month=2026')).toMatchObject({ status: 400 });
  });

  const readMonths = async () => {
    const { status, body } = await viewer.send('GET', '/api/usage/months');
    expect(status).toBe(200);
    return (body as { items: Month[] }).items;
  };

  test('has the totals of twelve months by plan, and the ten largest customers of each with their last plan', async () => {
    const items = await readMonths();
    expect(items.map(({ month }) => month)).toEqual(
      Array.from({ length: 12 }, (_, index) => monthAgo(11 - index)),
    );
    const [older, last, present] = items.slice(-3);
    const sum = (12 * 13) / 2;
    expect(older).toMatchObject({ customers: 12, served: 101 * sum - 50, units: 101 * sum, refused: sum });
    expect(older).toMatchObject({
      plans: [
        { plan: 'free', served: sum, refused: 0 },
        { plan: 'pro', served: 100 * sum - 50, units: 100 * sum, refused: sum },
      ],
    });
    expect(older?.largest.map(({ id }) => id)).toEqual(ids.slice(2, 12).toReversed());
    expect(older?.largest[0]).toEqual({
      id: ids[11],
      name: 'Customer 12',
      plan: 'pro',
      served: 1212,
      refused: 12,
    });
    expect(last).toMatchObject({
      customers: 12,
      served: 12,
      refused: 24,
      plans: [{ plan: 'pro', served: 12, refused: 24 }],
    });
    expect(last).not.toHaveProperty('units');
    expect(last?.largest).toHaveLength(10);
    expect(present).toEqual({
      month: monthAgo(0),
      customers: 0,
      served: 0,
      refused: 0,
      plans: [],
      largest: [],
    });
  });

  const download = (query: string, cookie = viewer.cookie) =>
    fetch(`${started.origin}/api/usage/export?${query}`, { headers: { Cookie: cookie } });

  test('exports a month as CSV: the rows of its keys and days, and no others', async () => {
    const lastDay = new Date(Date.parse(`${monthAgo(0)}-01`) - 86_400_000).toISOString().slice(0, 10);
    const response = await download(`from=${monthAgo(1)}-01&to=${lastDay}`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(response.headers.get('content-disposition')).toBe(
      `attachment; filename="usage-${monthAgo(1)}-01.csv"`,
    );
    expect(response.headers.get('cache-control')).toBe('no-store');
    const rows = ids
      .slice(0, 12)
      .flatMap((id, index) => [
        `${id},Customer ${index + 1},${monthAgo(1)}-01,pro,1,0,1`,
        `${id},Customer ${index + 1},${monthAgo(1)}-02,pro,0,2,0`,
      ]);
    expect(await response.text()).toBe(
      [
        'id,name,date,plan,served,refused,units',
        ...rows,
        `${ids[12]},'=Refused,${monthAgo(1)}-15,free,0,1,0`,
        '',
      ].join('\n'),
    );
    for (const unused of ['from=2001-02-01&to=2001-02-28', 'from=9000-01-01&to=9999-12-31'])
      expect(await (await download(unused)).text()).toBe('id,name,date,plan,served,refused,units\n');
  });

  test.each([
    '',
    'from=2026-13-01',
    'from=2026-11',
    'from=2026-11-02&to=2026-11-01',
    'from=2026-11-01&day=1',
  ])('refuses ?%s with what would be right', async (query) => {
    const { status, body } = await viewer.send('GET', `/api/usage/export?${query}`);
    expect({ status, body }).toMatchObject({ status: 400, body: { code: 'bad_request' } });
  });

  test('what is served around the end of a month is ranked in the month of each', async () => {
    const user = { customerId: 'cus_midnight', plan: 'free' } as const;
    let nowMs = Date.parse('2020-01-31T23:59:59Z');
    const usagePolicy = { current: () => ({ retentionDays: 4000 }) };
    const totals = createUsageTotals({ redis: started.redis, usagePolicy, now: () => nowMs });
    totals.count(user, served, 1);
    nowMs += 2000;
    totals.count(user, served, 5);
    await totals.report(true);
    const ranked = (month: string) => started.redis.zscore(redisKeys.usageRanking(month), user.customerId);
    expect([await ranked('202001'), await ranked('202002')]).toEqual(['1', '5']);
  });

  test('the totals expire with the use of their month', async () => {
    const { redis } = started;
    const name = monthAgo(2).replace('-', '');
    const days = async (key: string) =>
      Math.round((Date.now() + (await redis.pttl(key))) / 86_400_000 - Date.parse(monthAgo(2)) / 86_400_000);
    const keys = [redisKeys.usageTotals(name), redisKeys.usageRanking(name)];
    for (const key of keys) expect(await days(key)).toBe(431);
  });

  test('a gateway adds its requests to the totals, but those that failed through no fault of the caller', async () => {
    const { key, customerId } = await started.issue({ name: 'New', minute: 2, plan: 'enterprise', day: 100 });
    const pets = async () => (await started.pets(key)).status;
    const { response } = started.upstream;
    started.upstream.response = (req) => req.socket.destroy();
    expect(await pets()).toBe(502);
    started.upstream.response = response;
    expect([await pets(), await pets(), await pets()]).toEqual([200, 200, 429]);
    const present = async () => (await readMonths()).at(-1);
    await expect.poll(present, { timeout: 15_000 }).toMatchObject({
      customers: 1,
      plans: [{ plan: 'enterprise', served: 2, refused: 1 }],
      largest: [{ id: customerId, name: 'New', plan: 'enterprise', served: 2, refused: 1 }],
    });
  });
});
