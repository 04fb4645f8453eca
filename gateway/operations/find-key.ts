import { hashApiKey, isWellFormedApiKey } from '../api-keys/api-key-format.ts';
import { keyPattern, keyPrefix } from '../config/key-prefix.ts';
import { placeOfHash } from './api-key-index.ts';
import { InvalidOperation } from './invalid-operation.ts';
import type { Session } from './session.ts';
import { readStoredKey, type StoredApiKey } from './stored-keys.ts';

/** Characters that may be part of a key. */
const candidates = keyPattern(/[0-9A-Za-z]+/g);

/**
 * Finds the record of an API key by the key itself, which never leaves this process: only its hash does.
 * @param text the key, or a text that contains it, such as a line of a log
 * @throws InvalidOperation if the text does not contain exactly one key, or it has no record; never with the key
 */
export async function findKey(text: string, { redis }: Pick<Session, 'redis'>): Promise<StoredApiKey> {
  const keys = apiKeysIn(text);
  const [key] = keys;
  if (key === undefined) {
    throw new InvalidOperation(
      `there is no API key in the input: a key is ${keyPrefix()} and 38 letters and digits, the last six a checksum`,
    );
  }
  if (keys.size > 1) throw new InvalidOperation(`there are ${keys.size} API keys in the input: give one`);
  const place = await placeOfHash(redis, hashApiKey(key));
  const found = place && (await readStoredKey(redis, '', place))?.key;
  if (found === undefined) {
    throw new InvalidOperation(
      'this API key has no record: it was issued for another Redis, or it ended more than 90 days ago',
    );
  }
  if (found.outcome === 'record') return found;
  throw new InvalidOperation(
    `the record ${found.where} is invalid: ${found.issues.join('; ')}; its id is its field id`,
  );
}

/** @returns the API keys in a text, each once */
export function apiKeysIn(text: string): Set<string> {
  return new Set((text.match(candidates()) ?? []).filter(isWellFormedApiKey));
}
