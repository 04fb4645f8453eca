import { errorMessage } from '#runtime/error-message.ts';
import { Cluster } from 'ioredis';
import type { Change } from '../../platform/redis/record-change.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import { OperationFailure } from '../invalid-operation.ts';
import { OvertakenChange } from '../overtaken-change.ts';
import type { Session } from '../session.ts';
import type { SettingChange, Values } from './settings-diff.ts';

/**
 * Makes and audits all changes, or none if one of the hashes was changed since it was read. On one Redis, also behind Sentinels, that
 * is one atomic script. In Redis Cluster the hashes are in different slots, so they are written one after another.
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

/** @throws OperationFailure that names what was written before another one could not be */
async function writeOneByOne(
  { redis, audit }: { redis: Cluster; audit: Session['audit'] },
  changes: readonly SettingChange[],
  { added, removed }: { added: string[]; removed: string[] },
): Promise<void> {
  const made: string[] = [];
  try {
    if (added.length > 0) await redis.sadd(redisKeys.planNames, ...added);
    for (const change of changes) {
      const { key, name, stored, written } = change;
      const args = [Object.keys(stored).length, ...flat(stored), ...flat(written)];
      const result = await audit.make([entryOf(change)], { script: 'setFieldsAudited', keys: [key], args });
      if (result !== 1) throw changedByOthers(made);
      made.push(name);
    }
    if (removed.length > 0) await redis.srem(redisKeys.planNames, ...removed);
  } catch (cause) {
    if (made.length === 0) throw cause;
    throw new OperationFailure(
      `not all settings were written, but ${made.join(', ')} only: ${errorMessage(cause)}; run the same command again to complete it`,
      { cause },
    );
  }
}

function flat(fields: Record<string, string>): string[] {
  return Object.entries(fields).flat();
}

function changedByOthers(made: readonly string[] = []): OvertakenChange {
  const advice = made.length === 0 ? '; nothing was changed; try again' : '';
  return new OvertakenChange(`somebody else has changed the settings since they were read${advice}`);
}
