import { Cluster } from 'ioredis';
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

/** Runs the script. @param entries for the audit log, as audited.lua takes them */
type Run = (entries: string) => Promise<number | null>;

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

  /**
   * Makes changes by a script that returns 0 if it has changed nothing, and records them in the same step, if it has. In
   * Redis Cluster, where the log is on another node, they are recorded before, and once more if they were not made.
   * @returns what the script returns
   */
  async function make(
    changes: readonly Change[],
    { script, keys, args }: ScriptCall,
  ): Promise<number | null> {
    const run = (entries: string) => redis[script](keys.length, [...keys, ...args, redisKeys.audit, entries]);
    const result = await (redis instanceof Cluster
      ? makeInCluster(changes, run)
      : makeInOneStep(changes, run));
    if (result !== 0) for (const change of changes) onMade?.(change);
    return result;
  }

  function makeInOneStep(changes: readonly Change[], run: Run) {
    for (const change of changes) onChange?.(change);
    return run(changes.length === 0 ? '' : JSON.stringify(changes.map((change) => entryOf(change))));
  }

  async function makeInCluster(changes: readonly Change[], run: Run) {
    const entries: { id: string; change: Change }[] = [];
    for (const change of changes) entries.push({ id: await record(change), change });
    const refute = () => Promise.all(entries.map(({ id, change }) => add(entryOf(change, { notMade: id }))));
    try {
      const result = await run('');
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
