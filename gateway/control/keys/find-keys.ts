import { z } from 'zod';
import { hashApiKey, isWellFormedApiKey } from '../../keys/api-key-format.ts';
import { apiKeyState } from '../../keys/records.ts';
import { keyFields, searchedNames, searchedWords, textIn } from '../../limits/record-fields.ts';
import { keyPattern, keyPrefix } from '../../platform/config/key-prefix.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import { InvalidOperation } from '../invalid-operation.ts';
import { pageOf, searchInput, textMatcher } from '../list-schemas.ts';
import { allFound, type Search } from '../scored-pages.ts';
import type { Session } from '../session.ts';
import { timeInput } from './key-input.ts';
import { keyRowSchema, keyStates, readKeyRow, type KeyRow } from './key-view.ts';
import { assertNotApiKey, assertSearchable, containsApiKey } from './pasted-key.ts';
import { findStoredKey, placeOfHash, readEach, readKeyOfHash, type PlacedKey } from './stored-keys.ts';

/** What keys have to match, all of it. */
export const keyConditions = z.strictObject({
  search: searchInput.describe(
    `Keys by an id, a SHA-256, a hint such as api_ab12, or a part of a ${searchedWords(keyFields)} or an id. An API key is refused.`,
  ),
  plan: z.string().optional().describe('Keys on a plan'),
  state: z
    .enum(keyStates, `has to be one of ${keyStates.join(', ')}`)
    .optional()
    .describe(
      `Keys in a state: ${keyStates.join(', ')}. Banned ones are those of the list of bans, soonest to be free first`,
    ),
  expiresBefore: timeInput.optional().describe('Keys that expire, or have expired, before this time'),
  unusedSince: timeInput.optional().describe('Keys that were made before this time and not used since'),
});

type KeyConditions = z.output<typeof keyConditions>;

const isBefore = (time: string | null | undefined, limit: Date) =>
  typeof time === 'string' && Date.parse(time) < limit.getTime();

const searched = ['name', ...searchedNames(keyFields)];

/**
 * A search of the keys that match. A SHA-256 and an id lead to one key.
 * @throws InvalidOperation for an API key, a hint that is too short, and a SHA-256 without a record
 */
export async function searchKeys(
  session: Session,
  { search = '', plan, state, expiresBefore, unusedSince }: KeyConditions,
): Promise<Search<KeyRow>> {
  const { redis, now } = session;
  assertSearchable(search);
  const text = searchText(search);
  const exact = text === '' ? undefined : await findExactly(text, redis);
  const matchesText = text === '' || exact !== undefined ? undefined : keyTextMatcher(text);

  async function findRow(key: PlacedKey): Promise<KeyRow | undefined> {
    const { record } = key;
    if (plan !== undefined && record.plan !== plan) return undefined;
    const texts = searched.map((name) => textIn(record, name));
    if (matchesText?.({ ...record, texts }) === false) return undefined;
    if (expiresBefore !== undefined && !isBefore(record.expiresAt, expiresBefore)) return undefined;
    const stored = state === 'banned' ? 'active' : state;
    if (stored !== undefined && apiKeyState(record, now()) !== stored) return undefined;
    const row = await readKeyRow(session, key);
    if (state === 'banned' && row.state !== state) return undefined;
    const times = [row.createdAt, row.lastUsedAt].filter((time) => time !== null);
    const isUnused = unusedSince === undefined || times.every((time) => isBefore(time, unusedSince));
    return isUnused ? row : undefined;
  }

  return {
    ...(state === 'banned'
      ? { key: redisKeys.bans, order: 'ascending' }
      : { key: redisKeys.apiKeysByCreation }),
    only: exact?.record.id,
    find: async (ids) => Promise.all((await readEach(redis, ids)).map(async (key) => key && findRow(key))),
  };
}

export const keyPageSchema = pageOf(keyRowSchema).extend({
  read: z.int().describe('Keys that were read for this page'),
  total: z.int().describe('Keys in all, whatever the conditions'),
});

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

/**
 * Finds the id of the one key that a text means: an id, a SHA-256 or a hint. An unknown id stays as it is.
 * @throws InvalidOperation for an API key, and if no key has the hint or the SHA-256, or several have
 */
export async function findMeantKey(text: string, session: Session): Promise<string> {
  if (containsApiKey(text)) assertNotApiKey(text);
  const wanted = searchText(text);
  if (wanted === '') throw new InvalidOperation('It is empty.');
  if (!wanted.startsWith(keyPrefix())) return (await findExactly(wanted, session.redis))?.record.id ?? wanted;
  const found: KeyRow[] = [];
  for await (const page of allFound(session.redis, await searchKeys(session, { search: wanted }))) {
    found.push(...page);
    // Two tell already that the hint is not enough.
    if (found.length > 1) break;
  }
  const [only, another] = found;
  if (only === undefined) throw new InvalidOperation(`no key has the hint ${wanted}`);
  if (another !== undefined)
    throw new InvalidOperation(`several keys have the hint ${wanted}; see: ops keys list --search ${wanted}`);
  return only.id;
}

/** A hint may be copied with its ellipsis. */
const searchText = (text: string) => text.trim().replace(/(…|\.\.\.)$/u, '');

/**
 * Finds a key by its id or its SHA-256.
 * @returns undefined if the text is neither
 * @throws InvalidOperation for a SHA-256 without a record
 */
async function findExactly(text: string, redis: RedisClient): Promise<PlacedKey | undefined> {
  const [, hash] = keyHashPattern.exec(text) ?? [];
  if (hash !== undefined) {
    const found = await readKeyOfHash(redis, hash.toLowerCase());
    if (found !== undefined) return found;
    throw new InvalidOperation('no key with this SHA-256 has a record');
  }
  return text.startsWith(keyPrefix()) ? undefined : findStoredKey(redis, text);
}

/**
 * @returns a function that tells whether a key has the text as its hint, or in its id or one of its texts
 * @throws InvalidOperation for a hint that is too short
 */
export function keyTextMatcher(
  text: string,
): (key: { id: string; hint: string; texts: readonly string[] }) => boolean {
  const prefix = keyPrefix();
  if (text.startsWith(prefix)) {
    const hint = text.slice(0, prefix.length + hintLength);
    if (hint.length < prefix.length + minHint) {
      throw new InvalidOperation(`give at least two characters of the key after ${prefix}`);
    }
    return (key) => key.hint.startsWith(hint);
  }
  const matches = textMatcher(text);
  const idPart = text.toLowerCase();
  const findsIds = idPart.startsWith('key_') || idPart.length >= minIdPart;
  return ({ id, texts }) => texts.some(matches) || (findsIds && id.toLowerCase().includes(idPart));
}
