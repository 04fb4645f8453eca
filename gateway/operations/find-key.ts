import { hashApiKey, isWellFormedApiKey } from '../api-keys/api-key-format.ts';
import { keyPattern, keyPrefix } from '../config/key-prefix.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { placeOfHash } from './api-key-index.ts';
import { InvalidOperation } from './invalid-operation.ts';
import type { Session } from './session.ts';
import { readKeyOfHash, type PlacedKey } from './stored-keys.ts';

/** Characters that may be part of a key. */
const candidates = keyPattern(/[0-9A-Za-z]+/g);
/** A SHA-256, such as in the name of a Redis key or in a log. */
const keyHashes = /(?<![\da-f])[\da-f]{64}(?![\da-f])/gi;

const noRecord =
  'this API key has no record: it was issued for another Redis, or it ended more than 90 days ago';

/**
 * Finds the record of an API key by the key itself, which never leaves this process: only its hash does.
 * @param text the key, or a text that contains it, such as a line of a log
 * @throws InvalidOperation if the text does not contain exactly one key, or it has no record; never with the key
 */
export async function findKey(text: string, { redis }: Pick<Session, 'redis'>): Promise<PlacedKey> {
  const keys = apiKeysIn(text);
  const [key] = keys;
  if (key === undefined) {
    throw new InvalidOperation(
      `there is no API key in the input: a key is ${keyPrefix()} and 38 letters and digits, the last six a checksum`,
    );
  }
  if (keys.size > 1) throw new InvalidOperation(`there are ${keys.size} API keys in the input: give one`);
  const found = await readKeyOfHash(redis, hashApiKey(key));
  if (found === undefined) throw new InvalidOperation(noRecord);
  return found;
}

/**
 * Finds the id of an API key by the key itself, or by its SHA-256, also in the middle of a text.
 * @throws InvalidOperation as findKey does
 */
export async function findKeyId(text: string, { redis }: Pick<Session, 'redis'>): Promise<string> {
  const hashed = Array.from(apiKeysIn(text), hashApiKey);
  const found = new Set([...hashed, ...(text.match(keyHashes) ?? []).map((hash) => hash.toLowerCase())]);
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
  throw new InvalidOperation(noRecord);
}

/** @returns the API keys in a text, each once */
export function apiKeysIn(text: string): Set<string> {
  return new Set((text.match(candidates()) ?? []).filter(isWellFormedApiKey));
}
