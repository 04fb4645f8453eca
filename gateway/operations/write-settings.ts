import { Cluster } from 'ioredis';
import { redisKeys } from '../redis/redis-keys.ts';
import { errorMessage } from '../runtime/error-message.ts';
import type { Session } from './session.ts';
import type { SettingChange, Values } from './settings-diff.ts';

type Write = Pick<SettingChange, 'key' | 'stored' | 'written'>;

/**
 * Audits and makes all changes, or none if one of the hashes was changed since it was read. On one Redis, also behind Sentinels, that
 * is one atomic script. In Redis Cluster the hashes are in different slots: they are written one after another, and written
 * back if that fails. In between, for milliseconds, gateways may read some of the new values.
 * @throws Error if a hash was changed by others, or not all could be written
 */
export async function writeSettings(
  { redis, audit }: Pick<Session, 'redis' | 'audit'>,
  changes: readonly SettingChange[],
): Promise<void> {
  for (const { action, target, plan, before, after } of changes) {
    const named = (values: Values | null) =>
      values === null || plan === undefined ? values : { name: plan, ...values };
    await audit({ action, target, before: named(before), after: named(after) });
  }
  const names = (removed: boolean) =>
    changes.flatMap(({ plan, after }) => (plan === undefined || (after === null) !== removed ? [] : [plan]));
  const [added, removed] = [names(false), names(true)];
  if (redis instanceof Cluster) return writeOneByOne(redis, changes, { added, removed });
  const lists = [added, removed, ...changes.flatMap(({ stored, written }) => [flat(stored), flat(written)])];
  const isWritten = await redis.writeSettings(
    changes.length + 1,
    redisKeys.planNames,
    ...changes.map(({ key }) => key),
    ...lists.flatMap((list) => [String(list.length)].concat(list)),
  );
  if (isWritten !== 1) throw changedByOthers();
}

async function writeOneByOne(
  redis: Cluster,
  writes: readonly Write[],
  { added, removed }: { added: string[]; removed: string[] },
): Promise<void> {
  const listed = await redis.smembers(redisKeys.planNames);
  const unlisted = added.filter((name) => !listed.includes(name));
  const done: Write[] = [];
  try {
    if (unlisted.length > 0) await redis.sadd(redisKeys.planNames, ...unlisted);
    for (const write of writes) {
      // Even if its reply is lost, it may have been made.
      done.push(write);
      if (!(await writeHash(redis, write))) {
        done.pop();
        throw changedByOthers();
      }
    }
    if (removed.length > 0) await redis.srem(redisKeys.planNames, ...removed);
  } catch (error) {
    const left = await undo(redis, done.toReversed());
    if (unlisted.length > 0) await redis.srem(redisKeys.planNames, ...unlisted).catch(() => 0);
    if (left.length === 0) throw error;
    throw new Error(`${errorMessage(error)}; ${left.join(', ')} could not be written back: see ops audit`, {
      cause: error,
    });
  }
}

/** @returns the Redis keys of changes that could not be undone */
async function undo(redis: Cluster, done: readonly Write[]): Promise<string[]> {
  const left: string[] = [];
  for (const { key, stored, written } of done) {
    const before = Object.fromEntries(Object.keys(written).map((field) => [field, stored[field] ?? '']));
    const after = Object.fromEntries(
      Object.entries({ ...stored, ...written }).filter(([, text]) => text !== ''),
    );
    const isUndone = await writeHash(redis, { key, stored: after, written: before }).catch(() => false);
    if (!isUndone && !(await isUnchanged(redis, key, stored))) left.push(key);
  }
  return left;
}

/** Whether a change whose reply was lost has not been made. */
async function isUnchanged(redis: Cluster, key: string, stored: Write['stored']): Promise<boolean> {
  return writeHash(redis, { key, stored, written: {} }).catch(() => false);
}

/** @returns false if the hash was changed since it was read */
async function writeHash(redis: Cluster, { key, stored, written }: Write): Promise<boolean> {
  const expected = flat(stored);
  return (await redis.setFields(key, expected.length / 2, ...expected, ...flat(written))) === 1;
}

function flat(fields: Record<string, string>): string[] {
  return Object.entries(fields).flat();
}

function changedByOthers(): Error {
  return new Error(
    'somebody else has changed the settings since they were read; nothing was changed; try again',
  );
}
