import { containsWholeKey, isWellFormedApiKey } from '../../keys/api-key-format.ts';
import { keyPattern, keyPrefix } from '../../platform/config/key-prefix.ts';
import { InvalidOperation } from '../invalid-operation.ts';

/** More than the hint of a record and some characters that were copied with it: most of a key, perhaps mistyped. */
const mostOfKey = keyPattern(/[0-9A-Za-z]{13,}/);
/** A key that was copied without its prefix. The checksum tells it from any other text. */
const bareKey = /^[0-9A-Za-z]{38}$/;

/** A token of the operators' API (api-tokens.ts). */
const apiToken = /ops_[\w-]{43}/;

/**
 * Whether a text is or contains an API key, or most of one, or a token of the operators' API, which must not be shown, stored or sent anywhere. A whole key
 * is noticed also with a prefix that this process does not know, such as in arguments of a command, which are read before
 * Redis.
 */
export function containsApiKey(text: string): boolean {
  return (
    mostOfKey().test(text) ||
    containsWholeKey(text) ||
    apiToken.test(text) ||
    (bareKey.test(text) && isWellFormedApiKey(keyPrefix() + text))
  );
}

/**
 * Refuses an API key that was pasted instead of an id, even a mistyped one: it must not get into Redis' slow log, nor into
 * the output.
 * @throws InvalidOperation without the text
 */
export function assertNotApiKey(text: string): void {
  if (!text.startsWith(keyPrefix()) && !containsApiKey(text)) return;
  throw new InvalidOperation(
    'this is an API key itself and not the id of one, such as key_…; ops keys show reads a key from standard input',
  );
}

/**
 * Refuses an API key as the text of a search: addresses with it get into logs.
 * @throws InvalidOperation without the text
 */
export function assertSearchable(text: string): void {
  if (containsApiKey(text))
    throw new InvalidOperation('this is an API key itself; it is not to be sent as a search');
}
