import { hashApiKey, isWellFormedApiKey } from '../../keys/api-key-format.ts';
import { keyPattern, keyPrefix } from '../../platform/config/key-prefix.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import { textMatcher } from '../customers/text-matcher.ts';
import { InvalidOperation } from '../invalid-operation.ts';
import type { Session } from '../session.ts';
import { placeOfHash } from './api-key-index.ts';
import { findStoredKey, readKeyOfHash, type PlacedKey } from './stored-keys.ts';

/** Characters that may be part of a key. */
const candidates = keyPattern(/[0-9A-Za-z]+/g);
/** A SHA-256, such as in the name of a Redis key or in a log. */
const keyHashes = /(?<![\da-f])[\da-f]{64}(?![\da-f])/gi;
/** The same alone, also as the name of a Redis key. */
const keyHashPattern = /^(?:gw:[a-z-]+:(?:\{[\w-]+\}:)?)?([\da-f]{64})$/i;
/** Fewer characters of a hint, or of an id that does not begin like one, say nothing. */
const [minHint, minIdPart] = [2, 6];
const hintLength = 4;

/**
 * Finds the id of an API key by the key itself, which never leaves this process, or by its SHA-256, also in the middle of a text such as
 * a line of a log.
 * @throws InvalidOperation if the text does not contain exactly one key, or it has no record; never with the key
 */
export async function findKeyId(text: string, { redis }: Pick<Session, 'redis'>): Promise<string> {
  const hashes = (text.match(keyHashes) ?? []).map((hash) => hash.toLowerCase());
  const found = new Set([...Array.from(apiKeysIn(text), hashApiKey), ...hashes]);
  const [keyHash] = found;
  if (keyHash === undefined) {
    throw new InvalidOperation(
      `the text contains no complete API key: a key is ${keyPrefix()} and 38 letters and digits, of which the last six are a checksum`,
    );
  }
  if (found.size > 1) throw new InvalidOperation(`the text contains ${found.size} API keys: give one`);
  const place = await placeOfHash(redis, keyHash);
  const id = place && (await redis.hget(redisKeys.apiKey(place), 'id'));
  if (id) return id;
  throw new InvalidOperation(
    'this API key has no record: it was issued for another Redis, or it ended more than 90 days ago',
  );
}

/** @returns the API keys in a text, each once */
export const apiKeysIn = (text: string) =>
  new Set((text.match(candidates()) ?? []).filter(isWellFormedApiKey));

/** A hint may be copied with its ellipsis. */
export function searchText(text: string): string {
  return text.trim().replace(/(…|\.\.\.)$/u, '');
}

/**
 * Finds a key by its id or its SHA-256.
 * @returns undefined if the text is neither
 * @throws InvalidOperation for a SHA-256 without a record
 */
export async function findExactly(text: string, redis: RedisClient): Promise<PlacedKey | undefined> {
  const [, hash] = keyHashPattern.exec(text) ?? [];
  if (hash !== undefined) {
    const found = await readKeyOfHash(redis, hash.toLowerCase());
    if (found !== undefined) return found;
    throw new InvalidOperation('no key with this SHA-256 has a record');
  }
  return text.startsWith(keyPrefix()) ? undefined : findStoredKey(redis, text);
}

/**
 * @returns a function that tells whether a key has the text as its hint, or in its name or id
 * @throws InvalidOperation for a hint that is too short
 */
export function keyTextMatcher(text: string): (key: { id: string; name: string; hint: string }) => boolean {
  const prefix = keyPrefix();
  if (text.startsWith(prefix)) {
    const hint = text.slice(0, prefix.length + hintLength);
    if (hint.length < prefix.length + minHint) {
      throw new InvalidOperation(`give at least two characters of the key after ${prefix}`);
    }
    return (key) => key.hint.startsWith(hint);
  }
  const nameMatches = textMatcher(text);
  const idPart = text.toLowerCase();
  const findsIds = idPart.startsWith('key_') || idPart.length >= minIdPart;
  return ({ id, name }) =>
    (name !== '' && nameMatches(name)) || (findsIds && id.toLowerCase().includes(idPart));
}
