import type { Fields } from '../platform/redis/define-setting.ts';
import type { Change } from '../platform/redis/record-change.ts';
import { OvertakenChange } from './overtaken-change.ts';
import type { Session } from './session.ts';

const maxAttempts = 5;

interface DecidedChange {
  fields: Fields;
  /** Undefined if nothing changes. */
  entry?: Change;
}

/**
 * Changes a hash as a whole: if two operators do so at once, the second one decides on the result of the first.
 * @param decide returns the fields to set, given the present ones, and the entry of the audit log
 * @returns what was decided in the end
 * @throws OvertakenChange if others keep changing it, and what `decide` throws
 */
export async function changeHash<Decided extends DecidedChange>(
  { redis, audit }: Pick<Session, 'redis' | 'audit'>,
  key: string,
  decide: (fields: Fields) => Promise<Decided>,
): Promise<Decided> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const before = await redis.hgetall(key);
    const decided = await decide(before);
    const { fields, entry } = decided;
    const expected = Object.entries(before);
    const args = [expected.length, ...expected.flat(), ...Object.entries(fields).flat()];
    const entries = entry === undefined ? [] : [entry];
    if ((await audit.make(entries, { script: 'setFieldsAudited', keys: [key], args })) === 1) return decided;
  }
  throw new OvertakenChange(`${key} keeps being changed by others; try again`);
}
