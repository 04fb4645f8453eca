import type { ApiKeyRecord, CustomerRecord } from '../keys/records.ts';
import type { Change } from '../platform/redis/record-change.ts';
import type { Fields } from '../platform/redis/settings.ts';
import { InvalidOperation } from './invalid-operation.ts';
import type { Session } from './session.ts';

/** A change that was decided on by a record that somebody else has changed since. Nothing was changed. */
export class OvertakenChange extends InvalidOperation {
  override name = 'OvertakenChange';
}

const maxAttempts = 5;

/**
 * Tries a change until nobody else changes the same in between.
 * @param what is changed, in words
 * @param change returns undefined if another change came first
 * @throws OvertakenChange if others keep changing it
 */
export async function retryOvertaken<T>(what: string, change: () => Promise<T | undefined>): Promise<T> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const changed = await change();
    if (changed !== undefined) return changed;
  }
  throw new OvertakenChange(`${what} keeps being changed by others; try again`);
}

/** @param now what is stored now, in words. @throws OvertakenChange if it is not what the caller has seen */
export function expectUnchanged(isSame: boolean, now: string): void {
  if (isSame) return;
  throw new OvertakenChange(
    `somebody else has changed this since it was read: now it is ${now}. Nothing was changed.`,
  );
}

/** @throws OvertakenChange if the record is not at this rev any more. The keys of a customer have its rev */
export function assertRev(record: ApiKeyRecord | CustomerRecord, expected: number | undefined): void {
  if (expected === undefined || record.rev === expected) return;
  throw new OvertakenChange(
    `somebody else has changed the customer or one of its keys since it was read: read ${record.id} again (revision ${record.rev})`,
  );
}

interface DecidedChange {
  fields: Fields;
  entry: Change;
}

type HashSession = Pick<Session, 'redis' | 'audit'>;

/**
 * Writes fields of a hash, audited; an empty text removes one.
 * @param before all fields as they were read
 * @returns false if somebody else has changed them since, and nothing was written
 */
export async function writeFields(
  { audit }: HashSession,
  key: string,
  before: Fields,
  { fields, entry }: DecidedChange,
): Promise<boolean> {
  const args = [
    Object.keys(before).length,
    ...Object.entries(before).flat(),
    ...Object.entries(fields).flat(),
  ];
  return (await audit.make([entry], { script: 'setFieldsAudited', keys: [key], args })) === 1;
}

/**
 * Changes a hash as a whole: if two operators do so at once, the second one decides on the result of the first.
 * @param decide returns the fields to set, given the present ones, and the entry of the audit log
 * @returns what was decided in the end
 * @throws OvertakenChange if others keep changing it, and what `decide` throws
 */
export function changeHash<Decided extends DecidedChange>(
  session: HashSession,
  key: string,
  decide: (fields: Fields) => Decided,
): Promise<Decided> {
  return retryOvertaken(key, async () => {
    const before = await session.redis.hgetall(key);
    const decided = decide(before);
    return (await writeFields(session, key, before, decided)) ? decided : undefined;
  });
}
