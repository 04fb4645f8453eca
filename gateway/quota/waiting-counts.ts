import { Cluster } from 'ioredis';
import type { RedisClient } from '../platform/redis/redis-client.ts';

/** Counts of a process by name that wait to be added to those in Redis, in the order in which they began. */
export interface WaitingCounts<Count> {
  /** The count of a name, made at first. Undefined if too many wait, so that memory stays bounded. */
  get(name: string, make: () => Count): Count | undefined;
  /** Sends the counts that wait longest. @param all also what could wait for the next time */
  report(all?: boolean): Promise<void>;
}

interface WaitingCountsOptions<Count> {
  redis: RedisClient;
  /** Number of names beyond which further ones are not counted. */
  max: number;
  /** Number of names that are sent together: Redis has other things to do. */
  maxReported: number;
  /** Sends the command that adds a count. What Redis does not confirm is lost. */
  send: (count: Count) => Promise<unknown>;
}

export function createWaitingCounts<Count>(options: WaitingCountsOptions<Count>): WaitingCounts<Count> {
  const { redis, max, maxReported, send } = options;
  const waiting = new Map<string, Count>();

  async function report(all = false): Promise<void> {
    const taken = waiting.entries().take(maxReported).toArray();
    for (const [name] of taken) waiting.delete(name);
    const counts = taken.map(([, count]) => count);
    // Redis is unavailable, which the gate reports.
    await sendTogether(counts);
    if (all && waiting.size > 0) await report(all);
  }

  async function sendTogether(counts: readonly Count[]): Promise<void> {
    // A write to the socket for each of some thousand commands is measurable.
    const socket = redis instanceof Cluster ? undefined : redis.stream;
    socket?.cork();
    const replies = counts.map(send);
    socket?.uncork();
    await Promise.allSettled(replies);
  }

  return {
    get(name, make) {
      let count = waiting.get(name);
      if (count === undefined && waiting.size < max) {
        count = make();
        waiting.set(name, count);
      }
      return count;
    },
    report,
  };
}
