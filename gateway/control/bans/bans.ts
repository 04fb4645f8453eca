import { z } from 'zod';
import { redisKeys, type KeyPlace } from '../../platform/redis/redis-keys.ts';
import { consecutiveBan, indexBan } from '../../quota/bans.ts';
import { ignoreInvalid, InvalidOperation } from '../invalid-operation.ts';
import { placesOf, showStoredKey } from '../keys/stored-keys.ts';
import type { Search } from '../scored-pages.ts';
import type { ReadingSession, Session } from '../session.ts';

export const banSchema = z
  .object({
    id: z.string().describe('Of the API key'),
    name: z.string(),
    plan: z.string(),
    /** What led to the ban: refused requests, or the reason that an operator gave. */
    reason: z.string(),
    endsAt: z.iso.datetime(),
  })
  .meta({ id: 'Ban' });

export type ActiveBan = z.infer<typeof banSchema>;

/** The ban of a key; undefined if it is not banned. */
export async function findBan(session: ReadingSession, place: KeyPlace) {
  const ban = await readBan(session, place);
  if (ban === undefined) return undefined;
  return { reason: describeBan(ban.value), endsAt: new Date(session.now() + ban.leftMs).toISOString() };
}

/** Value of a ban, and ms to its end. */
async function readBan({ redis }: ReadingSession, place: KeyPlace) {
  const key = redisKeys.ban(place);
  const [value, leftMs] = await Promise.all([redis.get(key), redis.pttl(key)]);
  return value === null || leftMs <= 0 ? undefined : { value, leftMs };
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
  await writeBan(session, { id, place }, { value: ban.value, ms: ban.leftMs }, []);
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
    keys: [redisKeys.ban(place)],
    args: [value, ms],
  });
  await indexBan(redis, id, now() + ms, now());
}

/**
 * All bans that gateways have observed or operators have added, soonest to expire first. A ban that was made with redis-cli is not
 * among them.
 */
export const searchBans = (session: Session): Search<ActiveBan> => ({
  key: redisKeys.bans,
  order: 'ascending',
  // A key that is gone, or whose record is invalid, is refused for that.
  find: (ids) => Promise.all(ids.map(async (id) => (await ignoreInvalid(describe(session, id)))?.ban)),
});

/** More would be too much to look at for a figure that a page reads every two seconds. */
const maxCounted = 1000;

/** Number of banned keys; of very many the first thousand. */
export async function countBans(session: ReadingSession): Promise<number> {
  const { redis, now } = session;
  return countBannedKeys(
    session,
    await redis.zrangebyscore(redisKeys.bans, now(), '+inf', 'LIMIT', 0, maxCounted),
  );
}

/** Number of these keys that are banned. @param ids ids of keys */
export async function countBannedKeys({ redis }: ReadingSession, ids: readonly string[]): Promise<number> {
  const places = (await placesOf(redis, ids)).filter((place) => place !== undefined);
  // In a Cluster each is in another slot.
  const exist = await Promise.all(places.map((place) => redis.exists(redisKeys.ban(place))));
  return exist.reduce((sum, each) => sum + each, 0);
}

/**
 * Bans a key, replacing any other ban. In force from its next request on.
 * @throws InvalidOperation if there is no such key
 */
export async function addBan(session: Session, id: string, durationMs: number, reason: string) {
  const { place, key, ban: before = null } = await describe(session, id);
  const endsAt = new Date(session.now() + durationMs).toISOString();
  const after: ActiveBan = { ...key, reason: describeBan(reason), endsAt };
  const entry = { action: 'bans.add', target: id, before, after };
  await writeBan(session, { id, place }, { value: reason, ms: durationMs }, [entry]);
  return after;
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
    keys: [redisKeys.ban(place), redisKeys.strikes(place)],
    args: [],
  });
  await redis.zrem(redisKeys.bans, id);
  return ban;
}

async function describe(session: Session, id: string) {
  const { place, record } = await showStoredKey(session.redis, id);
  const found = await findBan(session, place);
  const { name, plan } = record;
  const key = { id, name, plan };
  return { place, key, ban: found && { ...key, ...found } };
}

/** Gateways write the number of bans in a row, operators write a reason. */
function describeBan(value: string): string {
  const count = consecutiveBan(value);
  return count === undefined ? value : `kept sending requests when refused (consecutive ban ${count})`;
}
