import { Cluster, type Redis } from 'ioredis';
import type { AuditedScript, RedisClient } from './redis-client.ts';
import { isReplyError } from './redis-errors.ts';
import { redisKeys } from './redis-keys.ts';

/** A change of a record or a setting. Never contains an API key, since records have none. */
export interface Change {
  /** What is changed and how, such as `keys.revoke`. */
  action: string;
  /** Id of an API key, or name of a plan. */
  target: string;
  /** Null if there was nothing before. */
  before: unknown;
  /** Null if nothing is left. */
  after: unknown;
}

/** A script that makes a change, and what it is called with. */
interface ScriptCall {
  script: AuditedScript;
  keys: readonly string[];
  args: readonly (string | number)[];
}

export type AuditLog = ReturnType<typeof createAuditLog>;

interface AuditLogOptions {
  redis: RedisClient;
  /** The person who makes the changes. */
  who: string;
  /** Why, perhaps with a ticket. */
  reason?: string | undefined;
  onChange?: (change: Change) => void;
  /** Called for each change that a script has made. */
  onMade?: (change: Change) => void;
}

/** Approximate number of entries that are kept. */
const maxEntries = 100_000;

/** Records changes in a Redis stream. */
export function createAuditLog({ redis, who, reason, onChange, onMade }: AuditLogOptions) {
  /** Arguments of XADD after the key. */
  function entryOf({ action, target, before, after }: Change, more: Record<string, string> = {}): string[] {
    const fields = {
      who,
      action,
      target,
      before: JSON.stringify(before ?? null),
      after: JSON.stringify(after ?? null),
      ...(reason === undefined ? {} : { reason }),
      ...more,
    };
    return ['MAXLEN', '~', String(maxEntries), '*', ...Object.entries(fields).flat()];
  }

  const add = async (args: string[]) => String(await redis.call('XADD', redisKeys.audit, ...args));

  /**
   * Records a change before it is made: an operation that is killed in between leaves an entry without a change, but never
   * a change without an entry.
   * @returns id of the entry
   */
  function record(change: Change): Promise<string> {
    onChange?.(change);
    return add(entryOf(change));
  }

  async function notMade(entry: string, change: Change): Promise<void> {
    await add(entryOf(change, { notMade: entry }));
  }

  /**
   * Makes changes by a script that returns 0 if it has changed nothing, and records them in the same step, if it has. In
   * Redis Cluster, where the log is on another node, they are recorded before, and once more if they were not made.
   * @returns what the script returns
   */
  async function make(changes: readonly Change[], call: ScriptCall): Promise<number | null> {
    const result =
      redis instanceof Cluster
        ? await makeInCluster(redis, changes, call)
        : await makeInOneStep(redis, changes, call);
    if (result !== 0) for (const change of changes) onMade?.(change);
    return result;
  }

  function makeInOneStep(single: Redis, changes: readonly Change[], { script, keys, args }: ScriptCall) {
    for (const change of changes) onChange?.(change);
    const entries = changes.length === 0 ? '' : JSON.stringify(changes.map((change) => entryOf(change)));
    return single[script](keys.length, [...keys, ...args, redisKeys.audit, entries]);
  }

  async function makeInCluster(
    cluster: Cluster,
    changes: readonly Change[],
    { script, keys, args }: ScriptCall,
  ): Promise<number | null> {
    const entries: { id: string; change: Change }[] = [];
    for (const change of changes) entries.push({ id: await record(change), change });
    const refute = () => Promise.all(entries.map(({ id, change }) => notMade(id, change)));
    try {
      const result = await cluster[script](keys.length, [...keys, ...args, redisKeys.audit, '']);
      if (result === 0) await refute();
      return result;
    } catch (error) {
      // Without a reply, it may have been made.
      if (isReplyError(error)) await refute().catch(() => {});
      throw error;
    }
  }

  return Object.assign(record, { who, make });
}
