import { redisKeys, type KeyPlace } from '../redis/redis-keys.ts';
import { placesOf } from './api-key-index.ts';
import type { ScoredMember } from './scored-pages.ts';
import { keyTextMatcher } from './search-keys.ts';
import type { Session } from './session.ts';
import { lostKey, readStoredKey, type StoredApiKey } from './stored-keys.ts';

/** A key with its place in a sorted set of ids. */
export interface PlacedKey {
  key: StoredApiKey;
  keyPlace: KeyPlace | undefined;
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

  async function mayMatch(id: string, place: KeyPlace): Promise<boolean> {
    if (plan === undefined && matchesText === undefined) return true;
    // A value of another type may match by its id.
    const [onPlan, texts] = await Promise.all([
      plan && redis.hget(redisKeys.customer(place.customerId), 'plan').catch(() => ''),
      redis.hmget(redisKeys.apiKey(place), 'name', 'hint').catch(() => []),
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
    places.map(async (place, position): Promise<PlacedKey | undefined> => {
      const keyPlace = keyPlaces[position];
      if (keyPlace === undefined) return { key: lostKey(place.member), keyPlace, place };
      if (!(await mayMatch(place.member, keyPlace))) return undefined;
      const key = (await readStoredKey(redis, place.member, keyPlace))?.key;
      return key && { key, keyPlace, place };
    }),
  );
  return found.filter((key) => key !== undefined);
}
