import { redisKeys } from '../redis/redis-keys.ts';
import type { ScoredMember } from './scored-pages.ts';
import { keyTextMatcher } from './search-keys.ts';
import type { Session } from './session.ts';
import { readStoredKey, type StoredApiKey } from './stored-keys.ts';

/** A key with its place in a sorted set of ids. */
export interface PlacedKey {
  key: StoredApiKey;
  keyHash: string | undefined;
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
export async function lookUpPlaces(
  { redis }: Pick<Session, 'redis'>,
  places: readonly ScoredMember[],
  { plan, text }: Wanted,
): Promise<PlacedKey[]> {
  const matchesText = text === '' ? undefined : keyTextMatcher(text);

  async function mayMatch(id: string, keyHash: string): Promise<boolean> {
    if (plan === undefined && matchesText === undefined) return true;
    // A value of another type may match by its id.
    const texts = await redis.hmget(redisKeys.apiKey(keyHash), 'name', 'hint', 'plan').catch(() => []);
    const [name, hint, onPlan] = texts.map((found) => found ?? '');
    if (plan !== undefined && onPlan !== plan) return false;
    return matchesText?.({ id, name: name ?? '', hint: hint ?? '' }) ?? true;
  }

  const keyHashes = await redis.hmget(redisKeys.apiKeyIds, ...places.map(({ member }) => member));
  const found = await Promise.all(
    places.map(async (place, position): Promise<PlacedKey | undefined> => {
      const keyHash = keyHashes[position] ?? undefined;
      if (keyHash === undefined) return { key: lostKey(place.member), keyHash, place };
      if (!(await mayMatch(place.member, keyHash))) return undefined;
      const key = (await readStoredKey(redis, place.member, keyHash))?.key;
      return key && { key, keyHash, place };
    }),
  );
  return found.filter((key) => key !== undefined);
}

function lostKey(id: string): StoredApiKey {
  return {
    outcome: 'invalid',
    id,
    issues: [`its hash is missing in ${redisKeys.apiKeyIds}`],
    revoked: false,
  };
}
