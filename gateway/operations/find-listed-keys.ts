import { hashApiKey } from '../api-keys/api-key-format.ts';
import { keyPrefix } from '../config/key-prefix.ts';
import { apiKeysIn } from './find-key.ts';
import { InvalidOperation, ofLine } from './invalid-operation.ts';
import { listKeys } from './keys.ts';
import { searchText } from './search-keys.ts';
import type { ReadingSession } from './session.ts';
import { findStoredKey, readKeyOfHash, type StoredApiKey } from './stored-keys.ts';

/** A line of a list of keys. */
export interface KeyLine {
  line: number;
  /** An id, a hint such as pets_ab12, or the key itself. */
  text: string;
}

function isHint(text: string): boolean {
  const prefix = keyPrefix();
  return text.startsWith(prefix) && /^[0-9A-Za-z]{4}$/.test(text.slice(prefix.length));
}

/**
 * Finds the keys that a list names, each once, in its order. All keys are read if it has hints.
 * @throws InvalidOperation that names the first line that does not name one key; never with a key itself
 */
export async function findListedKeys(
  lines: readonly KeyLine[],
  session: ReadingSession,
): Promise<StoredApiKey[]> {
  const { redis } = session;
  const idsOf = await readHints(lines, session);
  const found = new Map<string, StoredApiKey>();
  for (const { line, text } of lines) {
    const key = await ofLine(line, findOne(text));
    found.set(key.outcome === 'record' ? key.record.id : key.id, key);
  }
  return [...found.values()];

  async function findOne(text: string): Promise<StoredApiKey> {
    const [secret] = apiKeysIn(text);
    if (secret !== undefined) {
      const key = await readKeyOfHash(redis, hashApiKey(secret));
      if (key?.outcome === 'record') return key;
      throw new InvalidOperation('this API key has no valid record');
    }
    const hint = searchText(text);
    if (!hint.startsWith(keyPrefix())) return (await findStoredKey(redis, text)).key;
    const ids = idsOf.get(hint) ?? [];
    const [id] = ids;
    if (id !== undefined && ids.length === 1) return (await findStoredKey(redis, id)).key;
    if (!isHint(hint)) throw new InvalidOperation(`neither an id nor a hint such as ${keyPrefix()}ab12`);
    throw new InvalidOperation(
      id === undefined
        ? `no key has the hint ${hint}`
        : `${ids.length} keys have the hint ${hint}: ${ids.join(', ')}; give the id`,
    );
  }
}

/** Ids of the keys by hint, as far as the list has hints. */
async function readHints(lines: readonly KeyLine[], session: ReadingSession): Promise<Map<string, string[]>> {
  const ids = new Map(
    lines
      .map(({ text }) => searchText(text))
      .filter(isHint)
      .map((hint): [string, string[]] => [hint, []]),
  );
  if (ids.size === 0) return ids;
  for await (const page of listKeys(session)) {
    for (const key of page)
      if (key.outcome === 'record') ids.get(searchText(key.record.hint))?.push(key.record.id);
  }
  return ids;
}
