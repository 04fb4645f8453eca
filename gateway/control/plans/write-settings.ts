import { errorMessage } from '#runtime/error-message.ts';
import { Cluster } from 'ioredis';
import type { Change } from '../../platform/redis/record-change.ts';
import { isReplyError } from '../../platform/redis/redis-errors.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import { OperationFailure } from '../invalid-operation.ts';
import { OvertakenChange } from '../overtaken-change.ts';
import type { Session } from '../session.ts';
import type { SettingChange, Values } from './settings-diff.ts';

type Write = Pick<SettingChange, 'key' | 'stored' | 'written'>;

/**
 * Makes and audits all changes, or none if one of the hashes was changed since it was read. On one Redis, also behind Sentinels, that
 * is one atomic script. In Redis Cluster the hashes are in different slots: they are written one after another, and written
 * back if that fails. In between, for milliseconds, gateways may read some of the new values.
 * @throws OvertakenChange if a hash was changed by others, OperationFailure if not all could be written
 */
export async function writeSettings(
  { redis, audit }: Pick<Session, 'redis' | 'audit'>,
  changes: readonly SettingChange[],
): Promise<void> {
  const names = (removed: boolean) =>
    changes.flatMap(({ plan, after }) => (plan === undefined || (after === null) !== removed ? [] : [plan]));
  const [added, removed] = [names(false), names(true)];
  if (redis instanceof Cluster) return writeOneByOne({ redis, audit }, changes, { added, removed });
  const lists = [added, removed, ...changes.flatMap(({ stored, written }) => [flat(stored), flat(written)])];
  const isWritten = await audit.make(changes.map(entryOf), {
    script: 'writeSettingsAudited',
    keys: [redisKeys.planNames, ...changes.map(({ key }) => key)],
    args: lists.flatMap((list) => [String(list.length)].concat(list)),
  });
  if (isWritten !== 1) throw changedByOthers();
}

function entryOf({ action, target, plan, before, after }: SettingChange): Change {
  const named = (values: Values | null) =>
    values === null || plan === undefined ? values : { name: plan, ...values };
  return { action, target, before: named(before), after: named(after) };
}

async function writeOneByOne(
  { redis, audit }: { redis: Cluster; audit: Session['audit'] },
  changes: readonly SettingChange[],
  { added, removed }: { added: string[]; removed: string[] },
): Promise<void> {
  const listed = await redis.smembers(redisKeys.planNames);
  const unlisted = added.filter((name) => !listed.includes(name));
  const begun: Begun[] = [];
  try {
    if (unlisted.length > 0) await redis.sadd(redisKeys.planNames, ...unlisted);
    for (const change of changes) {
      const entry = await audit(entryOf(change));
      const made: Begun = { change, entry, outcome: 'unknown' };
      begun.push(made);
      made.outcome = (await writeHash(redis, change)) ? 'changed' : 'not changed';
      if (made.outcome === 'not changed') throw changedByOthers();
    }
    if (removed.length > 0) await redis.srem(redisKeys.planNames, ...removed);
  } catch (error) {
    for (const made of begun.toReversed()) {
      if (made.outcome !== 'not changed') made.outcome = await undo(redis, made);
      const { change, entry, outcome } = made;
      if (outcome === 'not changed') await audit.notMade(entry, entryOf(change)).catch(() => {});
    }
    if (begun.some(({ outcome }) => outcome !== 'not changed')) throw brokenOff(error, changes, begun);
    if (unlisted.length > 0) await redis.srem(redisKeys.planNames, ...unlisted).catch(() => 0);
    throw error;
  }
}

type Outcome = 'changed' | 'not changed' | 'unknown';

/** A change that was recorded in the audit log. */
interface Begun {
  change: SettingChange;
  entry: string;
  outcome: Outcome;
}

/** Writes a hash back, also if the reply to its change was lost. */
async function undo(redis: Cluster, { change, outcome }: Begun): Promise<Outcome> {
  const { key, stored, written } = change;
  const before = Object.fromEntries(Object.keys(written).map((field) => [field, stored[field] ?? '']));
  const after = Object.fromEntries(
    Object.entries({ ...stored, ...written }).filter(([, text]) => text !== ''),
  );
  try {
    if (await writeHash(redis, { key, stored: after, written: before })) return 'not changed';
    return (await writeHash(redis, { key, stored, written: {} })) ? 'not changed' : 'unknown';
  } catch (error) {
    return isReplyError(error) ? outcome : 'unknown';
  }
}

/** @returns false if the hash was changed since it was read */
async function writeHash(redis: Cluster, { key, stored, written }: Write): Promise<boolean> {
  const expected = flat(stored);
  return (await redis.setFields(key, expected.length / 2, ...expected, ...flat(written))) === 1;
}

function flat(fields: Record<string, string>): string[] {
  return Object.entries(fields).flat();
}

function changedByOthers(): OvertakenChange {
  return new OvertakenChange(
    'somebody else has changed the settings since they were read; nothing was changed; try again',
  );
}

function brokenOff(cause: unknown, changes: readonly SettingChange[], begun: readonly Begun[]): Error {
  const outcomes = new Map(begun.map(({ change, outcome }) => [change, outcome]));
  const named = (['changed', 'unknown', 'not changed'] as const).flatMap((outcome) => {
    const names = changes.filter((change) => (outcomes.get(change) ?? 'not changed') === outcome);
    return names.length === 0 ? [] : [`${outcome}: ${names.map(({ name }) => name).join(', ')}`];
  });
  return new OperationFailure(
    `not all settings were written: ${errorMessage(cause)}; ${named.join('; ')}; ` +
      'run the same command again to complete it',
    { cause },
  );
}
