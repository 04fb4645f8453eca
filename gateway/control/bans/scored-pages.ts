import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { scoredMembers } from '../../platform/redis/scored-members.ts';
import { InvalidOperation } from '../invalid-operation.ts';

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
}

/**
 * Reads a sorted set in pages. Members that are added or removed between two pages shift none of the others, since each
 * page begins at a score and not at a rank.
 */
export async function* scoredPages(
  redis: RedisClient,
  { key, order, after, size }: ScoredPagesOptions,
): AsyncGenerator<ScoredMember[]> {
  const isDescending = order === 'descending';
  let last = after;
  /** Members with the score of the last one that were read before: they are read again. */
  let skipped = 0;
  for (;;) {
    const start = String(last?.score ?? (isDescending ? '+inf' : '-inf'));
    const flat = isDescending
      ? await redis.zrange(key, start, '-inf', 'BYSCORE', 'REV', 'LIMIT', skipped, size, 'WITHSCORES')
      : await redis.zrange(key, start, '+inf', 'BYSCORE', 'LIMIT', skipped, size, 'WITHSCORES');
    const page = scoredMembers(flat).map(([member, score]) => ({ member, score }));
    const end = page.at(-1);
    if (end === undefined) return;
    const cursor = last;
    const fresh = page.filter((entry) => cursor === undefined || isAfter(entry, cursor, isDescending));
    if (fresh.length > 0) yield fresh;
    skipped = end.score === last?.score ? skipped + page.length : 0;
    if (skipped === 0) last = end;
  }
}

/** Members with the same score are in the order of their text. */
function isAfter(entry: ScoredMember, cursor: ScoredMember, isDescending: boolean): boolean {
  if (entry.score !== cursor.score) return true;
  return isDescending ? entry.member < cursor.member : entry.member > cursor.member;
}

/** What is found among members, each at one of them. */
interface FoundPage<Found> {
  found: Found[];
  next: string | null;
  /** Members that were looked at. */
  read: number;
}

/**
 * Reads a page of what is found among the members of a sorted set: of all of them no more than it needs, and never many more than
 * `maxRead`.
 * @param find is given the number of what the page lacks, and one more, which shows whether there is another page
 */
export async function readFoundPage<Found extends { at: ScoredMember }>(
  members: AsyncIterable<ScoredMember[]> | Iterable<ScoredMember[]>,
  { size, maxRead }: { size: number; maxRead: number },
  find: (members: ScoredMember[]) => Promise<Found[]>,
): Promise<FoundPage<Found>> {
  const found: Found[] = [];
  let read = 0;
  for await (const page of members) {
    found.push(...(await find(page)));
    read += page.length;
    const [last, end] = [found.at(size - 1), page.at(-1)];
    if (found.length > size && last !== undefined) {
      return { found: found.slice(0, size), next: formatPosition(last.at), read };
    }
    if (read >= maxRead && end !== undefined) return { found, next: formatPosition(end), read };
  }
  return { found, next: null, read };
}

/** A member as the `next` of a page. */
const formatPosition = ({ score, member }: ScoredMember) => `${score}:${member}`;

/** A score as JavaScript writes it. One that was set by hand may be of any size. */
export const scorePattern = String.raw`-?(?:Infinity|\d{1,21}(?:\.\d{1,25})?(?:e[+-]\d{1,3})?)`;

const positionPattern = new RegExp(`^(${scorePattern}):(.{1,200})$`);

/** @throws InvalidOperation for a text that is no `next` */
export function parsePosition(text: string | undefined): ScoredMember | undefined {
  if (text === undefined) return undefined;
  const [, score, member] = positionPattern.exec(text) ?? [];
  if (score === undefined || member === undefined) {
    throw new InvalidOperation('the page does not exist: use the "next" of the page before it as "after"');
  }
  return { score: Number(score), member };
}
