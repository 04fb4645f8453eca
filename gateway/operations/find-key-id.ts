import { hashApiKey } from '../api-keys/api-key-format.ts';
import { keyPrefix } from '../config/key-prefix.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { placeOfHash } from './api-key-index.ts';
import { apiKeysIn } from './find-key.ts';
import { InvalidOperation } from './invalid-operation.ts';
import type { Session } from './session.ts';

/** A SHA-256, such as in the name of a Redis key or in a log. */
const keyHashes = /(?<![\da-f])[\da-f]{64}(?![\da-f])/gi;

/**
 * Finds the id of an API key by the key itself, or by its SHA-256, also in the middle of a text such as a header or a line
 * of a log. The key never leaves this process: only its hash does. A record that was edited into an invalid one is found
 * as well.
 * @throws InvalidOperation if the text does not contain exactly one key or SHA-256, or it has no record; never with the key
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
  const id = place && (await redis.hget(redisKeys.apiKey(place), 'id').catch(() => null));
  if (id) return id;
  throw new InvalidOperation(
    'this API key has no record: it was issued for another Redis, or it ended more than 90 days ago',
  );
}
