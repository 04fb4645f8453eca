import { randomUUID } from 'node:crypto';
import type { ProcessStatus } from '../platform/observability/process-status.ts';
import type { EnforcedSettings } from '../platform/redis/enforced-settings.ts';
import { createStatusPublisher } from '../platform/redis/process-statuses.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import { redisKeys } from '../platform/redis/redis-keys.ts';

/** A worker whose primary was killed ends, too, and leaves its status as the trace of a crash. */
export type EndCause = 'shutdown' | 'primary_lost';

export interface Instances {
  /** Name of this instance, another one at each start. */
  readonly id: string;
  /**
   * Announces this instance with the settings that it enforces.
   * @throws Error if Redis refuses the writes, or is unavailable
   */
  announce(): Promise<void>;
  /** Takes this instance off the list, at the end. Never rejects. @param cause why it ends */
  leave(cause?: EndCause): Promise<void>;
}

const keptSeconds = 60;
/** Interval for writing the record although it has not changed, so that it does not expire. */
const renewMs = 15_000;

interface InstancesDependencies {
  redis: RedisClient;
  /** Settings that this instance enforces now. */
  enforced: () => EnforcedSettings;
  /** What this process says of itself, for consoles; undefined if it says nothing. */
  readStatus: (() => Promise<ProcessStatus>) | undefined;
  now: () => number;
}

/**
 * Says which instances run and what they enforce: defaults are written only where none runs.
 * @param now Redis' clock, so that the instances' own clocks do not matter
 */
export function createInstances(dependencies: InstancesDependencies): Instances {
  const { redis, enforced, readStatus, now } = dependencies;
  const id = randomUUID();
  const statusPublisher = createStatusPublisher({ redis, id, now });
  let published = '';
  let publishedAtMs = Number.NEGATIVE_INFINITY;

  /** @param isLost whether everything that this instance has written may be lost */
  async function publish(isLost: boolean): Promise<void> {
    const settings = enforced();
    const record = JSON.stringify(settings);
    // Kept until a write has succeeded.
    if (isLost) published = '';
    if (record === published && performance.now() - publishedAtMs < renewMs) return;
    const known = Object.keys(settings.known);
    await Promise.all([
      redis.set(redisKeys.instance(id), record, 'EX', keptSeconds),
      known.length > 0 ? redis.sadd(redisKeys.settings, ...known) : 0,
    ]);
    published = record;
    publishedAtMs = performance.now();
  }

  /** An announcement that is under way must not come after the end. */
  let left = false;

  return {
    id,
    async announce() {
      const status = await readStatus?.();
      if (left) return;
      const [added] = await Promise.all([
        redis.announce(redisKeys.instances, now(), id, keptSeconds),
        // Only consoles need it.
        status === undefined ? undefined : statusPublisher.publish(status),
      ]);
      if (!left) await publish(added === 1);
    },
    async leave(cause) {
      left = true;
      await Promise.all([
        redis.zrem(redisKeys.instances, id),
        redis.del(redisKeys.instance(id)),
        statusPublisher.withdraw(cause === 'primary_lost'),
      ]).catch(() => 0);
    },
  };
}
