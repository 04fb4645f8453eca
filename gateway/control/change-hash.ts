import type { Change } from '../platform/redis/record-change.ts';
import type { Fields } from '../platform/redis/settings.ts';
import { retryOvertaken } from './overtaken-change.ts';
import type { Session } from './session.ts';

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
