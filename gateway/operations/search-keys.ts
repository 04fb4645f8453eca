import { keyPrefix } from '../config/key-prefix.ts';
import { InvalidOperation } from './invalid-operation.ts';
import type { Session } from './session.ts';
import { findStoredKey, readKeyOfHash, type PlacedKey } from './stored-keys.ts';
import { textMatcher } from './text-matcher.ts';

/** A SHA-256, also in the name of a Redis key. */
const keyHashPattern = /^(?:gw:[a-z-]+:(?:\{[\w-]+\}:)?)?([\da-f]{64})$/i;
/** Fewer characters of a hint, or of an id that does not begin like one, say nothing. */
const [minHint, minIdPart] = [2, 6];
const hintLength = 4;

/** A hint may be copied with its ellipsis. */
export function searchText(text: string): string {
  return text.trim().replace(/(…|\.\.\.)$/u, '');
}

/**
 * Finds a key by its id or its SHA-256.
 * @returns undefined if the text is neither
 * @throws InvalidOperation for a SHA-256 without a record
 */
export async function findExactly(
  text: string,
  { redis }: Pick<Session, 'redis'>,
): Promise<PlacedKey | undefined> {
  const [, hash] = keyHashPattern.exec(text) ?? [];
  if (hash !== undefined) {
    const found = await readKeyOfHash(redis, hash.toLowerCase());
    if (found !== undefined) return found;
    throw new InvalidOperation('no key with this SHA-256 has a record');
  }
  return text.startsWith(keyPrefix()) ? undefined : findStoredKey(redis, text);
}

/** What of a key a text can match. */
interface TextOfKey {
  id: string;
  name: string;
  hint: string;
}

/**
 * @returns a function that tells whether a key has the text as its hint, or in its name or id
 * @throws InvalidOperation for a hint that is too short
 */
export function keyTextMatcher(text: string): (key: TextOfKey) => boolean {
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
