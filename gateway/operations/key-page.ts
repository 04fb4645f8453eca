import { z } from 'zod';
import { redisKeys, type KeyPlace } from '../redis/redis-keys.ts';
import { placesOf } from './api-key-index.ts';
import { keyMatcher, type KeyFilter } from './key-filter.ts';
import { createKeyRows, keyRowSchema } from './key-rows.ts';
import { assertSearchable } from './pasted-key.ts';
import { parsePosition, readFoundPage, scoredPages, type ScoredMember } from './scored-pages.ts';
import { findExactly, keyTextMatcher, searchText } from './search-keys.ts';
import type { Session } from './session.ts';
import { readStoredKey, type PlacedKey } from './stored-keys.ts';

export interface KeyPageOptions {
  filter: KeyFilter;
  /** An id, a SHA-256, a hint, or part of a name or of an id. */
  search?: string | undefined;
  /** Only banned keys, soonest to be free first. Otherwise the newest key comes first. */
  banned?: boolean | undefined;
  /** `next` of the page before. */
  after?: string | undefined;
  /** Maximum number of keys to return. */
  size: number;
  /** Number of keys to read after which the page ends, however few of them match. */
  maxRead: number;
}

export const keyPageSchema = z.object({
  items: z.array(keyRowSchema),
  next: z.string().nullable(),
  read: z.int().describe('Keys that were read for this page'),
  total: z.int().describe('Keys in all, whatever the conditions'),
});

export type KeyPage = z.infer<typeof keyPageSchema>;

/** Keys that are read at once: so few that requests, which this process may serve as well, do not wait noticeably. */
const batchSize = 100;

/**
 * Reads one page of keys that match: of all keys no more than it needs, and never many more than `maxRead`.
 * @throws InvalidOperation for an API key, a hint that is too short, a SHA-256 without a record, and an invalid `after`
 */
export async function readKeyPage(session: Session, options: KeyPageOptions): Promise<KeyPage> {
  const { redis, now } = session;
  const { filter, banned = false, size, maxRead } = options;
  const search = searchText(options.search ?? '');
  assertSearchable(search);
  const rowOf = createKeyRows(session);
  const matchesFilter = keyMatcher(filter, now);
  const total = await redis.zcard(redisKeys.apiKeysByCreation);

  const exact = search === '' ? undefined : await findExactly(search, session);
  if (exact !== undefined) {
    const row = await rowOf(exact);
    const isWanted = matchesFilter(exact) && (!banned || row.bannedUntil !== null);
    return { items: isWanted ? [row] : [], next: null, read: 1, total };
  }

  const matchesText = search === '' ? () => true : keyTextMatcher(search);
  const isFiltered = search !== '' || Object.values(filter).some((part) => part !== undefined);
  const pages = scoredPages(redis, {
    key: banned ? redisKeys.bans : redisKeys.apiKeysByCreation,
    order: banned ? 'ascending' : 'descending',
    after: parsePosition(options.after),
    // One more than the page shows whether there is another one.
    size: isFiltered || banned ? batchSize : size + 1,
  });
  const { found, ...page } = await readFoundPage(pages, { size, maxRead }, async (places, lacking) => {
    const keys = await lookUpPlaces(session, places, { plan: filter.plan, text: search });
    const matching = keys.filter(({ key }) => matchesFilter(key) && matchesText(key.record));
    // A ban in the index may have been lifted by hand, which its row shows.
    const wanted = banned ? matching : matching.slice(0, lacking);
    const rows = await Promise.all(wanted.map(async ({ key, place }) => ({ row: await rowOf(key), place })));
    return rows.filter(({ row }) => !banned || row.bannedUntil !== null);
  });
  return { items: found.map(({ row }) => row), ...page, total };
}

/** A key with its place in a sorted set of ids. */
interface ScoredKey {
  key: PlacedKey;
  place: ScoredMember;
}

/** What a key has to match at least, as a few fields of its record tell. */
interface Wanted {
  plan: string | undefined;
  /** Empty for any. See keyTextMatcher. */
  text: string;
}

/**
 * Reads the records of the ids in places. Leaves out keys without one, which have ended long ago, and keys that do not
 * match: to parse the record of each of 100,000 keys takes twice as long as to look at three of its fields.
 */
async function lookUpPlaces(
  { redis }: Pick<Session, 'redis'>,
  places: readonly ScoredMember[],
  { plan, text }: Wanted,
): Promise<ScoredKey[]> {
  const matchesText = text === '' ? undefined : keyTextMatcher(text);

  async function mayMatch(id: string, place: KeyPlace): Promise<boolean> {
    if (plan === undefined && matchesText === undefined) return true;
    const [onPlan, texts] = await Promise.all([
      plan && redis.hget(redisKeys.customer(place.customerId), 'plan'),
      redis.hmget(redisKeys.apiKey(place), 'name', 'hint'),
    ]);
    if (plan !== undefined && onPlan !== plan) return false;
    const [name, hint] = texts;
    return matchesText?.({ id, name: name ?? '', hint: hint ?? '' }) ?? true;
  }

  const keyPlaces = await placesOf(
    redis,
    places.map(({ member }) => member),
  );
  const found = await Promise.all(
    places.map(async (place, position): Promise<ScoredKey | undefined> => {
      const keyPlace = keyPlaces[position];
      if (keyPlace === undefined || !(await mayMatch(place.member, keyPlace))) return undefined;
      const key = await readStoredKey(redis, keyPlace);
      return key && { key, place };
    }),
  );
  return found.filter((key) => key !== undefined);
}
