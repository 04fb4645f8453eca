import { redisKeys, type KeyPlace } from '../../platform/redis/redis-keys.ts';
import { defaultBanPolicy } from '../../quota/ban-policy.ts';
import { consecutiveBan, indexBan } from '../../quota/ban-reason.ts';
import { ignoreInvalid, InvalidOperation } from '../invalid-operation.ts';
import { showStoredKey } from '../keys/stored-keys.ts';
import { readRetentionDays } from '../plans/settings.ts';
import type { ReadingSession, Session } from '../session.ts';
import { parsePosition, readFoundPage, scoredPages, type ScoredMember } from './scored-pages.ts';

export interface ActiveBan {
  /** Id of the API key. */
  id: string;
  name: string;
  plan: string;
  /** What led to the ban: refused requests, or the reason that an operator gave. */
  reason: string;
  /** ISO 8601 in UTC; null for a ban without an end, which was set by hand. */
  endsAt: string | null;
}

const pageSize = 500;

/** The ban of a key; undefined if it is not banned. */
export async function findBan(
  session: ReadingSession,
  place: KeyPlace,
): Promise<Pick<ActiveBan, 'reason' | 'endsAt'> | undefined> {
  const ban = await readBan(session, place);
  if (ban === undefined) return undefined;
  // Set by hand without an expiry. The key's next request adds one.
  const endsAt = ban.leftMs < 0 ? null : new Date(session.now() + ban.leftMs).toISOString();
  return { reason: describeBan(ban.value), endsAt };
}

/** Value of a ban, and ms to its end, or a negative number if it has none. */
async function readBan(
  { redis }: ReadingSession,
  place: KeyPlace,
): Promise<{ value: string; leftMs: number } | undefined> {
  // Most keys have none.
  const expiresInMs = await redis.pttl(redisKeys.ban(place));
  if (expiresInMs === -2) return undefined;
  const [value, [recorded, banMs]] = await Promise.all([
    redis.get(redisKeys.ban(place)).catch(() => 'not a text'),
    redis.hmget(redisKeys.strikes(place), 'ban', 'banMs').catch(() => []),
  ]);
  if (value === null) return undefined;
  // The expiry exceeds the length of the ban if Redis' clock was set back (bans.lua).
  return { value, leftMs: recorded === value ? Math.min(expiresInMs, Number(banMs)) : expiresInMs };
}

/** Whether a key is banned by an operator, and not by a gateway. */
export async function isBannedByOperator(session: ReadingSession, place: KeyPlace): Promise<boolean> {
  const ban = await readBan(session, place);
  return ban !== undefined && consecutiveBan(ban.value) === undefined;
}

/** Bans the key that replaces another one for as long as that one is banned. The rotation is in the audit log. */
export async function carryOverBan(session: Session, from: KeyPlace, id: string): Promise<void> {
  const ban = await readBan(session, from);
  if (ban === undefined) return;
  const { place } = await showStoredKey(session.redis, id);
  const leftMs = ban.leftMs < 0 ? defaultBanPolicy.maxBanSeconds * 1000 : Math.max(1, ban.leftMs);
  await writeBan(session, { id, place }, { value: ban.value, ms: leftMs }, []);
}

/** Bans a key in place of any other ban, and notes it in the list of bans. */
async function writeBan(
  { redis, audit, now }: Session,
  { id, place }: { id: string; place: KeyPlace },
  { value, ms }: { value: string; ms: number },
  entries: Parameters<Session['audit']['make']>[0],
): Promise<void> {
  await audit.make(entries, {
    script: 'setBanAudited',
    keys: banKeys(place),
    args: [value, ms, await readRetentionDays(redis)],
  });
  await indexBan(redis, id, now() + ms, now());
}

/**
 * All bans that gateways have observed or operators have added in pages, soonest to expire first. A ban that was made with
 * redis-cli is not among them.
 */
export async function* listBans(session: Session): AsyncGenerator<ActiveBan[]> {
  for await (const page of banPages(session, pageSize)) {
    yield (await findBans(session, page)).map(({ ban }) => ban);
  }
}

/** One page of them. @param after `next` of the page before */
export async function readBanPage(
  session: Session,
  after: string | undefined,
  size: number,
): Promise<{ items: ActiveBan[]; next: string | null }> {
  const pages = banPages(session, size + 1, after);
  const { found, next } = await readFoundPage(pages, { size, maxRead: size }, (page) =>
    findBans(session, page),
  );
  return { items: found.map(({ ban }) => ban), next };
}

const banPages = ({ redis }: Session, size: number, after?: string) =>
  scoredPages(redis, { key: redisKeys.bans, order: 'ascending', after: parsePosition(after), size });

/** A key that is gone, or whose record is invalid, is refused for that. */
async function findBans(session: Session, members: readonly ScoredMember[]) {
  const found = await Promise.all(
    members.map(async (at) => ({ at, ban: (await ignoreInvalid(describe(session, at.member)))?.ban })),
  );
  return found.flatMap(({ at, ban }) => (ban === undefined ? [] : [{ at, ban }]));
}

/** Number of active bans, with those that were lifted with redis-cli. */
export const countBans = ({ redis, now }: ReadingSession): Promise<number> =>
  redis.zcount(redisKeys.bans, now(), '+inf');

/**
 * Bans a key, replacing any other ban. In force from its next request on.
 * @throws InvalidOperation if there is no such key
 */
export async function addBan(
  session: Session,
  id: string,
  durationMs: number,
  reason: string,
): Promise<ActiveBan> {
  const { place, key, ban: before = null } = await describe(session, id);
  const endsAt = new Date(session.now() + durationMs).toISOString();
  const after: ActiveBan = { ...key, reason: describeBan(reason), endsAt };
  const entry = { action: 'bans.add', target: id, before, after } as const;
  await writeBan(session, { id, place }, { value: reason, ms: durationMs }, [entry]);
  const found = await findBan(session, place);
  if (found === undefined) throw new Error(`the ban of ${id} was removed at once`);
  return { ...key, ...found };
}

/**
 * Ends a ban within a second, and forgets the strikes that led to it.
 * @throws InvalidOperation if there is no such key, or it is not banned
 */
export async function liftBan(session: Session, id: string): Promise<ActiveBan> {
  const { redis, audit } = session;
  const { place, ban } = await describe(session, id);
  if (ban === undefined) throw new InvalidOperation(`the key ${id} is not banned`);
  await audit.make([{ action: 'bans.lift', target: id, before: ban, after: null }], {
    script: 'liftBanAudited',
    keys: banKeys(place),
    args: [await readRetentionDays(redis)],
  });
  await redis.zrem(redisKeys.bans, id);
  return ban;
}

async function describe(session: Session, id: string) {
  const { place, record } = await showStoredKey(session.redis, id);
  const found = await findBan(session, place);
  const { name, plan } = record;
  const key = { id, name, plan };
  const ban: ActiveBan | undefined = found === undefined ? undefined : { ...key, ...found };
  return { place, key, ban };
}

function banKeys(place: KeyPlace): [ban: string, strikes: string] {
  return [redisKeys.ban(place), redisKeys.strikes(place)];
}

/** Gateways write the number of bans in a row, operators write a reason. */
function describeBan(value: string): string {
  const count = consecutiveBan(value);
  return count === undefined ? value : `kept sending requests after 429 (consecutive ban ${count})`;
}
