import { apiKeyState, type ApiKeyRecord } from '../../keys/records.ts';
import { fieldsIn, keyFields } from '../../limits/record-fields.ts';
import { isRedisConnectionLost } from '../../platform/redis/redis-errors.ts';
import { carryOverBan } from '../bans/bans.ts';
import { ignoreInvalid, InvalidOperation, OperationFailure, StaleKey } from '../invalid-operation.ts';
import type { Session } from '../session.ts';
import { issueFurtherKey, revokeKey, type ConfineKey, type IssuedApiKey } from './keys.ts';
import { showStoredKey, updateStoredKey } from './stored-keys.ts';

/**
 * Issues a key that replaces another one, which works until the grace period or its own expiry ends, whichever is
 * earlier. It takes over what operators gave the old one, and its ban; all else is the customer's.
 * @throws InvalidOperation as `issueFurtherKey` and `showStoredKey` do, and for a key that is not valid or was replaced before
 */
export async function rotateKey(
  session: Session,
  id: string,
  graceMs: number,
  confine?: ConfineKey,
): Promise<IssuedApiKey & { old: ApiKeyRecord }> {
  const { redis, now } = session;
  const { place, record } = await showStoredKey(redis, id);
  const { name, customerId, replacedBy } = record;
  const replacement =
    replacedBy === undefined ? undefined : (await ignoreInvalid(showStoredKey(redis, replacedBy)))?.record;
  const isReplaced = replacement !== undefined && apiKeyState(replacement, now()) === 'active';
  if (record.revokedAt === undefined && isReplaced) throw alreadyReplaced(record);
  assertValid(record, now());
  // The expiry of a key that was replaced before is the end of its grace period.
  const expiresAt =
    replacement === undefined ? record.expiresAt : later(record.expiresAt, replacement.expiresAt);
  const ownExpiry = expiresAt === undefined ? undefined : new Date(expiresAt);
  const wanted = { name, ...fieldsIn(keyFields, record), expiresAt: ownExpiry, replaces: id };
  const issued = await issueFurtherKey(session, customerId, wanted, confine);
  try {
    await carryOverBan(session, place, issued.record.id);
    const old = await updateStoredKey(session, id, 'keys.rotate', (current) => {
      // Another operator may have changed it since it was first read.
      assertValid(current, now());
      if (current.replacedBy !== replacedBy) throw alreadyReplaced(current);
      return {
        ...current,
        expiresAt: earlier(current.expiresAt, now() + graceMs),
        replacedBy: issued.record.id,
      };
    });
    return { ...issued, old };
  } catch (error) {
    // Whether the old key is replaced is not known, so the new one stays as it is.
    if (isRedisConnectionLost(error)) {
      throw new OperationFailure(
        `Redis became unavailable while ${id} was being replaced by ${issued.record.id}, whose key nobody has got; ` +
          `when Redis is available, rotate ${id} again: it says how to go on if it was replaced`,
      );
    }
    // Nobody gets the new key, so it must not work.
    await revokeKey(session, issued.record.id);
    throw error;
  }
}

function assertValid(record: ApiKeyRecord, nowMs: number): void {
  const { customerId } = record;
  const state = apiKeyState(record, nowMs);
  if (state === 'suspended') {
    throw new InvalidOperation(
      `the customer of the key ${record.id} is suspended: resume it first (ops customers resume ${customerId})`,
    );
  }
  if (state !== 'active') throw new StaleKey(`the key ${record.id} is ${state}: issue a new one`);
}

function alreadyReplaced({ id, replacedBy }: ApiKeyRecord): StaleKey {
  return new StaleKey(
    `the key ${id} has been replaced by ${replacedBy} already; if nobody has got that key, rotate ${replacedBy} ` +
      'with a grace period of 0s',
  );
}

function earlier(expiresAt: string | undefined, ms: number): string {
  return expiresAt !== undefined && Date.parse(expiresAt) <= ms ? expiresAt : new Date(ms).toISOString();
}

/** Undefined is no expiry. */
function later(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return undefined;
  return Date.parse(one) >= Date.parse(other) ? one : other;
}
