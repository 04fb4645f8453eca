import { describe, expect, test } from 'vitest';
import { addBan, countBans, liftBan } from '../../gateway/control/bans/bans.ts';
import { showStoredKey } from '../../gateway/control/keys/stored-keys.ts';
import { scoredPages } from '../../gateway/control/scored-pages.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { startConsoleApi } from '../support/kits/console-api-kit.ts';
import { sessionOf } from '../support/kits/keys.ts';
import { shared } from '../support/kits/shared.ts';

interface Page {
  items: { id: string; name: string; reason: string; endsAt: string | null }[];
  next: string | null;
  scanned?: number;
  total?: number;
}

describe('the API of bans', () => {
  const started = shared(startConsoleApi);
  const ada = shared(() => started.signIn());

  const get = async (path: string) => (await ada.send('GET', path)).body as Page;

  const session = () => sessionOf(started.redis);

  /** All pages, one after another. */
  async function all(path: string): Promise<Page['items']> {
    const items: Page['items'] = [];
    let next: string | null = null;
    do {
      const page: Page = await get(
        next === null ? path : `${path}${path.includes('?') ? '&' : '?'}after=${next}`,
      );
      items.push(...page.items);
      ({ next } = page);
    } while (next !== null);
    return items;
  }

  test('lists bans page by page, soonest to expire first', async () => {
    const keys = await Promise.all(
      [5, 1, 4, 2, 3].map((minutes) => started.issue({ name: `${minutes} min` })),
    );
    for (const [index, minutes] of [5, 1, 4, 2, 3].entries()) {
      await addBan(session(), keys[index]?.id ?? '', minutes * 60_000, `for ${minutes} min`);
    }
    const first = await get('/api/bans?limit=2');
    expect(first.items.map(({ name }) => name)).toEqual(['1 min', '2 min']);
    expect(first.items[0]).toMatchObject({
      reason: 'for 1 min',
      endsAt: expect.stringMatching(/Z$/) as unknown,
    });
    const names = (await all('/api/bans?limit=2')).map(({ name }) => name);
    expect(names).toEqual(['1 min', '2 min', '3 min', '4 min', '5 min']);
  });

  test('members of one score are found once each, whatever is removed meanwhile', async () => {
    const [key, size] = [`${redisKeys.bans}:test`, 3];
    const members = Array.from('abcdefghij');
    await started.redis.zadd(key, ...members.flatMap((member) => [1, member]), 2, 'z');
    for (const order of ['ascending', 'descending'] as const) {
      const found: string[] = [];
      for await (const page of scoredPages(started.redis, { key, order, size })) {
        found.push(...page.map(({ member }) => member));
        if (found.length <= size) await started.redis.zrem(key, found[0] ?? '', found[1] ?? '');
      }
      expect(found.toSorted()).toEqual(
        order === 'ascending' ? [...members, 'z'] : ['z', ...members.slice(2)].toSorted(),
      );
    }
    await started.redis.del(key);
  });

  test('goes on after a ban that was lifted since', async () => {
    const { items, next } = await get('/api/bans?limit=2');
    await liftBan(session(), items[1]?.id ?? '');
    const second = await get(`/api/bans?limit=2&after=${next}`);
    expect(second.items.map(({ name }) => name)).toEqual(['3 min', '4 min']);
    const customers = (await ada.send('GET', '/api/customers?use=true')).body;
    const of = (name: string, bannedKeys: number) =>
      expect.objectContaining({ name, use: expect.objectContaining({ bannedKeys }) as unknown }) as unknown;
    expect(customers).toMatchObject({
      items: expect.arrayContaining([of('2 min', 0), of('3 min', 1)]) as unknown,
    });
  });

  test('a ban that was lifted with redis-cli is not counted', async () => {
    const [lifted] = await all('/api/bans');
    const before = await countBans(session());
    const { redis } = started;
    const { place } = await showStoredKey(redis, lifted?.id ?? '');
    expect(await redis.del(redisKeys.ban(place))).toBe(1);
    expect(await all('/api/bans')).toHaveLength(before - 1);
    expect(await countBans(session())).toBe(before - 1);
  });

  test.each(['limit=0', 'limit=501', 'limit=x', 'after=x', 'after=1', 'before=1'])(
    'refuses ?%s',
    async (query) => {
      const { status, body } = await ada.send('GET', `/api/bans?${query}`);
      expect({ status, body }).toMatchObject({ status: 400, body: { code: 'bad_request' } });
    },
  );
});
