import type { RedisClient } from '../platform/redis/redis-client.ts';
import { scoredMembers } from '../platform/redis/redis-values.ts';
import { InvalidOperation } from './invalid-operation.ts';

/** A member of a sorted set with its score. */
export interface ScoredMember {
  member: string;
  score: number;
}

interface ScoredPagesOptions {
  /** Redis key of the sorted set. */
  key: string;
  order: 'ascending' | 'descending';
  /** The pages begin after this member, also if it was removed since. */
  after?: ScoredMember | undefined;
  size: number;
  /** Size of the pages after the first one, if that is smaller. */
  further?: number;
}

/**
 * Reads a sorted set in pages. Members that are added or removed between two pages shift none of the others, since each
 * page begins at a score and not at a rank.
 */
export async function* scoredPages(
  redis: RedisClient,
  { key, order, after, size: first, further = first }: ScoredPagesOptions,
): AsyncGenerator<ScoredMember[]> {
  const isDescending = order === 'descending';
  /** @param count -1 for all */
  async function read(from: string, to: string, count: number): Promise<ScoredMember[]> {
    const flat = isDescending
      ? await redis.zrange(key, from, to, 'BYSCORE', 'REV', 'LIMIT', 0, count, 'WITHSCORES')
      : await redis.zrange(key, from, to, 'BYSCORE', 'LIMIT', 0, count, 'WITHSCORES');
    return scoredMembers(flat).map(([member, score]) => ({ member, score }));
  }

  const [lowest, highest] = isDescending ? ['+inf', '-inf'] : ['-inf', '+inf'];
  let last = after;
  /** Whether all members with the score of the last one were read. */
  let isComplete = false;
  for (let size = first; ; size = Math.max(size, further)) {
    const from = last === undefined ? lowest : `${isComplete ? '(' : ''}${last.score}`;
    let page = await read(from, highest, size);
    const isEnd = page.length < size;
    // More members of one score than a page has are read at once: a rank among them could shift.
    isComplete = !isEnd && page.at(-1)?.score === last?.score;
    if (isComplete && last !== undefined) page = await read(`${last.score}`, `${last.score}`, -1);
    const cursor = last;
    const fresh = page.filter((entry) => cursor === undefined || isAfter(entry, cursor, isDescending));
    if (fresh.length > 0) yield fresh;
    if (isEnd) return;
    last = page.at(-1) ?? last;
  }
}

/** Members with the same score are in the order of their text. */
function isAfter(entry: ScoredMember, cursor: ScoredMember, isDescending: boolean): boolean {
  if (entry.score !== cursor.score) return true;
  return isDescending ? entry.member < cursor.member : entry.member > cursor.member;
}

/** A search of what the members of a sorted set stand for. */
export interface Search<Item> {
  /** Redis key of the sorted set. */
  key: string;
  /** Of the members of a page; descending by default. */
  order?: 'ascending' | 'descending';
  /** The only member that is looked at. */
  only?: string | undefined;
  /** @returns what is found at each member, in their order */
  find(members: readonly string[]): Promise<readonly (Item | undefined)[]>;
}

/** All that is found by ascending score, in pages. */
export async function* allFound<Item>(
  redis: RedisClient,
  { key, only, find }: Search<Item>,
  size = 500,
): AsyncGenerator<Item[]> {
  const pages = only ? [alone(only)] : scoredPages(redis, { key, order: 'ascending', size });
  for await (const page of pages) {
    const found = await find(page.map(({ member }) => member));
    yield found.filter((item) => item !== undefined);
  }
}

/** Members that are read at once if the first ones do not fill a page. Few, so that requests do not wait noticeably. */
const readAtOnce = 100;

/**
 * Reads one page: of all members no more than it needs, and never many more than `maxRead`, however few of them match.
 * @param page after: `next` of the page before
 * @returns read: number of members that were looked at
 * @throws InvalidOperation for an invalid `after`
 */
export async function readFoundPage<Item>(
  redis: RedisClient,
  { key, order = 'descending', only, find }: Search<Item>,
  { after, size, maxRead }: { after?: string | undefined; size: number; maxRead: number },
): Promise<{ items: Item[]; next: string | null; read: number }> {
  // One more than the page shows whether there is another one.
  const options = { key, order, after: parsePosition(after), size: size + 1, further: readAtOnce };
  const found: { at: ScoredMember; item: Item }[] = [];
  let read = 0;
  const pageAt = (last: ScoredMember | undefined) => ({
    items: found.slice(0, size).map(({ item }) => item),
    next: last === undefined ? null : formatPosition(last),
    read,
  });
  for await (const page of only ? [alone(only)] : scoredPages(redis, options)) {
    const items = await find(page.map(({ member }) => member));
    for (const [index, at] of page.entries()) {
      const item = items[index];
      if (item !== undefined) found.push({ at, item });
    }
    read += page.length;
    if (found.length > size) return pageAt(found[size - 1]?.at);
    if (read >= maxRead) return pageAt(page.at(-1));
  }
  return pageAt(undefined);
}

const alone = (member: string): ScoredMember[] => [{ member, score: 0 }];

/** A member as the `next` of a page. */
const formatPosition = ({ score, member }: ScoredMember) => `${score}:${member}`;

/** A `next`, with a score as JavaScript writes it. One that was set by hand may be of any size. */
export const position = /^(-?(?:Infinity|\d{1,21}(?:\.\d{1,25})?(?:e[+-]\d{1,3})?)):(.{1,200})$/;

/** @throws InvalidOperation for a text that is no `next` */
function parsePosition(text: string | undefined): ScoredMember | undefined {
  if (text === undefined) return undefined;
  const [, score, member] = position.exec(text) ?? [];
  if (score === undefined || member === undefined) {
    throw new InvalidOperation('the page does not exist: use the "next" of the page before it as "after"');
  }
  return { score: Number(score), member };
}
