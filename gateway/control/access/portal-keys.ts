import { apiKeyState, type ApiKeyRecord, type OwnFields } from '../../keys/records.ts';
import { keyFields, portalFields } from '../../limits/record-fields.ts';
import type { CustomerId } from '../../platform/redis/redis-keys.ts';
import { isBannedByOperator } from '../bans/bans.ts';
import { InvalidOperation, UnknownKey } from '../invalid-operation.ts';
import { keyRowSchema, readKeyRow, type KeyRow } from '../keys/key-view.ts';
import { findStoredKey, readKeyIds, readStoredKeys, type PlacedKey } from '../keys/stored-keys.ts';
import { fieldViews } from '../records.ts';
import type { ReadingSession, Session } from '../session.ts';

/** A key as its customer sees it. */
export const portalKeySchema = keyRowSchema
  .pick({
    id: true,
    name: true,
    hint: true,
    createdAt: true,
    revokedAt: true,
    replaces: true,
    replacedBy: true,
    state: true,
    bannedUntil: true,
    lastUsedAt: true,
    servedToday: true,
    refusedToday: true,
  } satisfies Record<Exclude<keyof OwnFields, keyof typeof keyFields>, true> &
    Partial<Record<keyof KeyRow, true>>)
  .extend(fieldViews(portalFields(keyFields)))
  .meta({ id: 'Key' });

/** Keys that work, and may be made in the portal. To rotate one is possible beyond that. */
export const maxWorking = 50;
/** Those that have ended are kept for 90 days. */
const maxKept = 500;

/**
 * Finds a key of a customer.
 * @throws UnknownKey if no key has this id, or it is another customer's: nobody learns which
 */
export async function findOwnKey({ redis }: Pick<Session, 'redis'>, customer: CustomerId, id: string) {
  const key = await findStoredKey(redis, id);
  if (key?.place.customerId !== customer) throw new UnknownKey(id);
  return key;
}

export const readPortalKey = async (session: ReadingSession, key: PlacedKey) =>
  portalKeySchema.parse(await readKeyRow(session, key));

/** The keys of a customer, also those that have ended, newest first. */
export async function readPortalKeys(session: ReadingSession, customer: CustomerId) {
  const keys = await readStoredKeys(session.redis, await readKeyIds(session.redis, customer));
  const shown = await Promise.all(keys.map((key) => readPortalKey(session, key)));
  return shown.toSorted((one, other) => other.createdAt.localeCompare(one.createdAt));
}

/**
 * The keys of a customer, also those that have ended.
 * @throws InvalidOperation if there are so many that the portal makes no further one
 */
export async function readKeysWithRoom(session: ReadingSession, customer: CustomerId, max: number) {
  const ids = await readKeyIds(session.redis, customer);
  // Without reading them: an operator may have made any number.
  if (ids.length > 2 * maxKept) throw new InvalidOperation(tooManyKept);
  const keys = await readStoredKeys(session.redis, ids);
  if (keys.length >= maxKept) throw new InvalidOperation(tooManyKept);
  const working = keys.filter(({ record }) => works(record, session.now()));
  if (working.length < max) return keys;
  throw new InvalidOperation(
    `you have ${working.length} keys that work, and ${maxWorking} can be made here: revoke one that you do not need`,
  );
}

const works = (record: ApiKeyRecord, nowMs: number) =>
  ['active', 'suspended'].includes(apiKeyState(record, nowMs));

/**
 * A further key has at most the scopes that the customer's keys have, which operators have decided.
 * @throws InvalidOperation for more scopes, and if the customer may have no further key now
 */
export async function confineNewKey<Wanted extends Pick<OwnFields, 'scopes'>>(
  session: ReadingSession,
  customer: CustomerId,
  wanted: Wanted,
): Promise<Wanted> {
  const keys = await readKeysWithRoom(session, customer, maxWorking);
  await assertNoneBanned(session, keys);
  const scopes = scopesOf(
    keys.map(({ record }) => record),
    session.now(),
  );
  if (scopes === undefined) return wanted;
  const beyond = wanted.scopes?.filter((scope) => !scopes.includes(scope)) ?? [];
  if (beyond.length === 0) return { ...wanted, scopes: wanted.scopes ?? scopes };
  throw new InvalidOperation(
    `no key of yours has the scope ${beyond.join(' and ')}: a key that is made here can have ${scopes.join(', ')}`,
  );
}

/** Scopes of the keys that work together, or else of the one that ended last. @returns undefined for all scopes */
function scopesOf(records: readonly ApiKeyRecord[], nowMs: number): readonly string[] | undefined {
  const working = records.filter((record) => works(record, nowMs));
  const models = working.length > 0 ? working : records.toSorted(byEnd).slice(-1);
  const lists = models.map(({ scopes }) => scopes);
  return models.length === 0 || lists.includes(undefined)
    ? undefined
    : [...new Set(lists.flatMap((scopes) => scopes ?? []))];
}

const byEnd = (one: ApiKeyRecord, other: ApiKeyRecord) => endOf(one).localeCompare(endOf(other));

/** ISO 8601 in UTC, as texts of revocations and rotations are. */
const endOf = ({ revokedAt, expiresAt }: ApiKeyRecord) =>
  [revokedAt, expiresAt].flatMap((time) => time ?? []).toSorted()[0] ?? '';

/** A further key would undo the ban. The ban of a key that was revoked holds until its end, too. */
export async function assertNoneBanned(session: ReadingSession, keys: readonly PlacedKey[]): Promise<void> {
  const banned = await Promise.all(keys.map(({ place }) => isBannedByOperator(session, place)));
  if (banned.includes(true))
    throw new InvalidOperation(
      'your provider has banned one of your keys: until the ban ends, no further one can be made here, and a key that is replaced has to end at once',
    );
}

const tooManyKept =
  `you have ${maxKept} keys, those included that ended in the last 90 days: ` +
  'no further one can be made here until the oldest are forgotten';
