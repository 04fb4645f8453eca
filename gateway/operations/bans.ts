import { readApiKey } from '../api-keys/read-api-key.ts';
import { consecutiveBan, indexBan } from '../quota/ban-reason.ts';
import { createHashReader } from '../redis/hash-reader.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { banPattern, placeIn, redisKeys, type KeyPlace } from '../redis/redis-keys.ts';
import { ignoreInvalid, InvalidOperation } from './invalid-operation.ts';
import {
  countRedisKeys,
  scanRedisKeys,
  scanRedisKeysFrom,
  type ScanPart,
  type ScanProgress,
} from './scan-redis-keys.ts';
import { formatPosition, parsePosition, scoredPages, type ScoredMember } from './scored-pages.ts';
import type { ReadingSession, Session } from './session.ts';
import { readRetentionDays } from './settings.ts';
import { showStoredKey } from './stored-keys.ts';

export interface ActiveBan {
  /** Id of the API key. */
  id: string;
  name: string;
  plan: string;
  /** What led to the ban: refused requests, or the reason that an operator gave. */
  reason: string;
  /** ISO 8601 in UTC; empty for a ban without an end, which was set by hand. */
  endsAt: string;
}

/** A part of a scan for bans. */
export interface BanScan extends Pick<ScanPart, 'next' | 'scanned'> {
  bans: ActiveBan[];
  /** Redis keys there are now. */
  total: number;
}

const pageSize = 500;
/** Redis keys of a part of a scan, in thousands: some 50 ms. A part with many bans ends sooner. */
const scanPages = 50;
const maxBansOfPart = 500;
/** Keys that are read at once: so few that requests, which this process may serve as well, do not wait noticeably. */
const batchSize = 100;

/** The ban of a key; undefined if it is not banned. */
export async function findBan(
  { redis, now }: ReadingSession,
  place: KeyPlace,
): Promise<Pick<ActiveBan, 'reason' | 'endsAt'> | undefined> {
  const [expiresInMs, value, [recorded, banMs]] = await Promise.all([
    redis.pttl(redisKeys.ban(place)),
    redis.get(redisKeys.ban(place)).catch(() => 'not a text'),
    redis.hmget(redisKeys.strikes(place), 'ban', 'banMs').catch(() => []),
  ]);
  if (expiresInMs === -2 || value === null) return undefined;
  // The expiry exceeds the length of the ban if Redis' clock was set back (bans.lua).
  const leftMs = recorded === value ? Math.min(expiresInMs, Number(banMs)) : expiresInMs;
  // Set by hand without an expiry. The key's next request adds one.
  const endsAt = leftMs < 0 ? '' : new Date(now() + leftMs).toISOString();
  return { reason: describeBan(value), endsAt };
}

/**
 * All bans in pages; memory is used for the ids of banned keys only. First those that gateways have observed or operators have
 * added, soonest to expire first; then those that only the ban itself tells of, such as one that was made with redis-cli, for
 * which all Redis keys are scanned.
 */
export async function* listBans(
  session: Session,
  onProgress?: (progress: ScanProgress) => void,
): AsyncGenerator<ActiveBan[]> {
  const { redis } = session;
  const listed = new Set<string>();
  for (let start = 0; ; start += pageSize) {
    const ids = await redis.zrange(redisKeys.bans, String(start), String(start + pageSize - 1));
    if (ids.length === 0) break;
    yield unlisted(await Promise.all(ids.map((id) => bannedKey(session, id))));
  }
  for await (const names of scanRedisKeys(redis, banPattern, onProgress)) {
    const places = names.flatMap((name) => placeIn('ban', name) ?? []);
    yield unlisted(await Promise.all(places.map((place) => describeAt(session, place))));
  }

  function unlisted(bans: readonly (ActiveBan | undefined)[]): ActiveBan[] {
    // A ban that was lifted by hand stays in the index until its end (indexBan).
    const active = bans.filter((ban) => ban !== undefined).filter(({ id }) => !listed.has(id));
    for (const { id } of active) listed.add(id);
    return active;
  }
}

/**
 * A page of the bans that gateways have observed or operators have added, soonest to expire first. A ban that was made
 * with redis-cli is not among them.
 * @param after `next` of the page before
 */
export async function readBanPage(
  session: Session,
  after: string | undefined,
  count: number,
): Promise<{ bans: ActiveBan[]; next: string | undefined }> {
  const { redis } = session;
  const entries: ScoredMember[] = [];
  const pages = {
    key: redisKeys.bans,
    order: 'ascending',
    after: parsePosition(after),
    size: count,
  } as const;
  for await (const page of scoredPages(redis, pages)) {
    entries.push(...page.slice(0, count - entries.length));
    if (entries.length === count) break;
  }
  const found = await Promise.all(entries.map(({ member }) => bannedKey(session, member)));
  const last = entries.at(-1);
  return {
    bans: found.filter((ban) => ban !== undefined),
    next: last !== undefined && entries.length === count ? formatPosition(last) : undefined,
  };
}

/**
 * Looks for bans that no page has, in a part of the Redis keys.
 * @param cursor `next` of the part before
 */
export async function scanBans(session: Session, cursor: string | undefined): Promise<BanScan> {
  const { redis } = session;
  const [{ names, next, scanned }, total] = await Promise.all([
    scanRedisKeysFrom(redis, banPattern, { cursor, pages: scanPages, enough: maxBansOfPart }),
    countRedisKeys(redis),
  ]);
  const places = [...new Set(names)].flatMap((name) => placeIn('ban', name) ?? []);
  const bans: ActiveBan[] = [];
  for (let start = 0; start < places.length; start += batchSize) {
    const found = await Promise.all(
      places
        .slice(start, start + batchSize)
        .map(async (place) => ((await isListed(redis, place)) ? undefined : describeAt(session, place))),
    );
    bans.push(...found.filter((ban) => ban !== undefined));
  }
  return { bans, next, scanned, total };
}

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
  const { redis, audit, now } = session;
  const { place, key, ban: before = null } = await describe(session, id);
  const endsAt = new Date(now() + durationMs).toISOString();
  const after: ActiveBan = { ...key, reason: describeBan(reason), endsAt };
  await audit.make([{ action: 'bans.add', target: id, before, after }], {
    script: 'setBanAudited',
    keys: banKeys(place),
    args: [reason, durationMs, await readRetentionDays(redis)],
  });
  await indexBan(redis, id, now() + durationMs, now());
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

/** A key that is gone, or whose record is invalid, is refused for that. */
async function bannedKey(session: Session, id: string): Promise<ActiveBan | undefined> {
  return (await ignoreInvalid(describe(session, id)))?.ban;
}

/** The id comes from the record, since the indexes may lack it. */
async function describeAt(session: Session, place: KeyPlace): Promise<ActiveBan | undefined> {
  const { redis } = session;
  const parsed = await readApiKey(createHashReader(redis), place);
  if (parsed.outcome !== 'record') return undefined;
  const { id, name, plan } = parsed.record;
  const found = await findBan(session, place);
  return found === undefined ? undefined : { id, name, plan, ...found };
}

async function isListed(redis: RedisClient, place: KeyPlace): Promise<boolean> {
  const id = await redis.hget(redisKeys.apiKey(place), 'id').catch(() => null);
  return id !== null && (await redis.zscore(redisKeys.bans, id)) !== null;
}

function banKeys(place: KeyPlace): [ban: string, strikes: string] {
  return [redisKeys.ban(place), redisKeys.strikes(place)];
}

/** Gateways write the number of bans in a row, operators write a reason. */
function describeBan(value: string): string {
  const count = consecutiveBan(value);
  return count === undefined ? value : `kept sending requests after 429 (consecutive ban ${count})`;
}
