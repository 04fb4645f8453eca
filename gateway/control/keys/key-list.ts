import { z } from 'zod';
import { apiKeyState } from '../../keys/api-key-record.ts';
import { windowNames } from '../../limits/windows.ts';
import { redisKeys, type KeyPlace } from '../../platform/redis/redis-keys.ts';
import { readKeyUse } from '../../quota/key-use.ts';
import { parsePosition, readFoundPage, scoredPages, type ScoredMember } from '../bans/scored-pages.ts';
import { UnknownKey } from '../invalid-operation.ts';
import { assertPlanName } from '../plans/plan-names.ts';
import type { ReadingSession, Session } from '../session.ts';
import { placesOf } from './api-key-index.ts';
import { findExactly, keyTextMatcher, searchText } from './find-key.ts';
import { createKeyRows, keyRowSchema, recordView, type KeyView, type listedStates } from './key-view.ts';
import { assertNotApiKey, assertSearchable } from './pasted-key.ts';
import { readStoredKey, type PlacedKey } from './stored-keys.ts';

type ListedState = (typeof listedStates)[number];

/** What keys have to match, all of it. A field that is undefined matches every key. */
export interface KeyConditions {
  plan?: string | undefined;
  state?: ListedState | undefined;
  /** Banned keys, also those that are not valid. */
  banned?: boolean | undefined;
  /** An id, a SHA-256, a hint, or part of a name or of an id. */
  search?: string | undefined;
  /** Keys that expire, or have expired, before this time. */
  expiresBefore?: Date | undefined;
  /** Keys with a limit of their own. */
  ownLimits?: boolean | undefined;
  /** Keys that were last used before this time, or never. */
  unusedSince?: Date | undefined;
}

/** A key that matches. */
interface FoundKey extends PlacedKey {
  at: ScoredMember;
  /** Time of the last use, null if there was none. Present only with a condition on it: it is another read a key. */
  lastUsedAt?: string | null;
}

/** A key as a list of the command shows it. */
export type ListedKey = Omit<KeyView, 'state'> & { state: ListedState } & Pick<FoundKey, 'lastUsedAt'>;

/** Keys that are read at once. Few in a process that serves requests as well, so that these do not wait noticeably. */
const [listedAtOnce, servedAtOnce] = [500, 100];

const isFiltered = (conditions: KeyConditions) =>
  Object.values(conditions).some((part) => part !== undefined);

/**
 * The keys that match, oldest first, in pages.
 * @param options after: id of the key before the first one
 * @throws InvalidOperation for a plan and a key that do not exist, and as searchKeys does
 */
export async function* listKeys(
  session: Session,
  conditions: KeyConditions = {},
  {
    limit = Number.POSITIVE_INFINITY,
    after,
  }: { limit?: number | undefined; after?: string | undefined } = {},
): AsyncGenerator<ListedKey[]> {
  const { redis, now } = session;
  await assertPlanName(redis, conditions.plan);
  const { pages, select } = await searchKeys(session, conditions, {
    key: redisKeys.apiKeysByCreation,
    order: 'ascending',
    after: after === undefined ? undefined : await positionOf(session, after),
    size: isFiltered(conditions) ? listedAtOnce : Math.min(limit, listedAtOnce),
  });
  let left = limit;
  for await (const page of pages) {
    const found = (await select(page)).slice(0, left);
    yield found.map(({ record, lastUsedAt }) => {
      const view = recordView(record, now());
      const state = conditions.state === 'banned' ? 'banned' : view.state;
      return { ...view, state, ...(lastUsedAt !== undefined && { lastUsedAt }) };
    });
    left -= found.length;
    if (left <= 0) return;
  }
}

async function positionOf({ redis }: ReadingSession, id: string): Promise<ScoredMember> {
  assertNotApiKey(id);
  const score = await redis.zscore(redisKeys.apiKeysByCreation, id);
  if (score === null) throw new UnknownKey(id);
  return { member: id, score: Number(score) };
}

export const keyPageSchema = z.object({
  items: z.array(keyRowSchema),
  next: z.string().nullable(),
  read: z.int().describe('Keys that were read for this page'),
  total: z.int().describe('Keys in all, whatever the conditions'),
});

export type KeyPage = z.infer<typeof keyPageSchema>;

interface KeyPageOptions extends KeyConditions {
  /** `next` of the page before. */
  after?: string | undefined;
  /** Maximum number of keys to return. */
  size: number;
  /** Number of keys to read after which the page ends, however few of them match. */
  maxRead: number;
}

/**
 * Reads one page of keys that match, with their use, the newest first, or banned ones soonest to be free first: of all keys no more than it needs, and never many more than `maxRead`.
 * @throws InvalidOperation for an invalid `after`, and as searchKeys does
 */
export async function readKeyPage(
  session: Session,
  { after, size, maxRead, ...conditions }: KeyPageOptions,
): Promise<KeyPage> {
  const { banned } = conditions;
  const total = await session.redis.zcard(redisKeys.apiKeysByCreation);
  const { pages, select } = await searchKeys(session, conditions, {
    key: banned ? redisKeys.bans : redisKeys.apiKeysByCreation,
    order: banned ? 'ascending' : 'descending',
    after: parsePosition(after),
    // One more than the page shows whether there is another one.
    size: isFiltered(conditions) ? servedAtOnce : size + 1,
  });
  const rowOf = createKeyRows(session);
  const { found, ...page } = await readFoundPage(pages, { size, maxRead }, async (members, lacking) => {
    const keys = (await select(members)).slice(0, lacking);
    return Promise.all(keys.map(async (key) => ({ row: await rowOf(key), at: key.at })));
  });
  return { items: found.map(({ row }) => row), ...page, total };
}

/**
 * Members of a sorted set of ids in pages, and a function that selects those whose keys match. A SHA-256 and an id lead to one key.
 * @throws InvalidOperation for an API key, a hint that is too short, and a SHA-256 without a record
 */
async function searchKeys(
  session: ReadingSession,
  { search = '', ...conditions }: KeyConditions,
  options: Parameters<typeof scoredPages>[1],
) {
  const { redis } = session;
  assertSearchable(search);
  const text = searchText(search);
  const exact = text === '' ? undefined : await findExactly(text, redis);
  if (exact !== undefined) {
    const only: ScoredMember[][] = [[{ member: exact.record.id, score: 0 }]];
    return { pages: only, select: keySelector(session, conditions) };
  }
  const matchesText = text === '' ? undefined : keyTextMatcher(text);
  return { pages: scoredPages(redis, options), select: keySelector(session, conditions, matchesText) };
}

/** Creates a function that reads the keys of members, and leaves out those that have no record or do not match. */
function keySelector(
  session: ReadingSession,
  conditions: Omit<KeyConditions, 'search'>,
  matchesText?: ReturnType<typeof keyTextMatcher>,
) {
  const { redis, now } = session;
  const { plan, state, expiresBefore, ownLimits, unusedSince } = conditions;
  const { banned = state === 'banned' } = conditions;

  /** To parse the record of each of 100,000 keys takes twice as long as to look at three of its fields. */
  async function mayMatch(id: string, place: KeyPlace): Promise<boolean> {
    if (plan !== undefined && (await redis.hget(redisKeys.customer(place.customerId), 'plan')) !== plan)
      return false;
    if (matchesText === undefined) return true;
    const [name, hint] = await redis.hmget(redisKeys.apiKey(place), 'name', 'hint');
    return matchesText({ id, name: name ?? '', hint: hint ?? '' });
  }

  function matches({ record }: PlacedKey): boolean {
    const { expiresAt } = record;
    const wanted = state === 'banned' ? 'valid' : state;
    return (
      (wanted === undefined || apiKeyState(record, now()) === wanted) &&
      (!ownLimits || windowNames.some((window) => record[window] !== undefined)) &&
      (expiresBefore === undefined ||
        (expiresAt !== undefined && Date.parse(expiresAt) < expiresBefore.getTime()))
    );
  }

  async function find(at: ScoredMember, place: KeyPlace | undefined): Promise<FoundKey | undefined> {
    if (place === undefined || !(await mayMatch(at.member, place))) return undefined;
    const key = await readStoredKey(redis, place);
    if (key === undefined || !matches(key)) return undefined;
    // A ban in the index may have been lifted by hand.
    if (banned && (await redis.exists(redisKeys.ban(place))) === 0) return undefined;
    if (unusedSince === undefined) return { ...key, at };
    const lastUsedAt = (await readKeyUse(session, place))?.lastUsedAt ?? null;
    if (lastUsedAt !== null && Date.parse(lastUsedAt) >= unusedSince.getTime()) return undefined;
    return { ...key, at, lastUsedAt };
  }

  return async function select(members: readonly ScoredMember[]): Promise<FoundKey[]> {
    const places = await placesOf(
      redis,
      members.map(({ member }) => member),
    );
    const found = await Promise.all(members.map((at, index) => find(at, places[index])));
    return found.filter((key) => key !== undefined);
  };
}
