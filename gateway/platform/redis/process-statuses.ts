import { z } from 'zod';
import { processStatus, statusKeptMs, type ProcessStatus } from '../observability/process-status.ts';
import { parseJson } from './parse-json.ts';
import type { RedisClient } from './redis-client.ts';
import { redisKeys } from './redis-keys.ts';

/** The same in Redis, with the time that it was written at, in Unix milliseconds by Redis' clock. */
const writtenAt = z.object({ at: z.number() });
export const publishedStatus = processStatus.extend(writtenAt.shape);

export type PublishedStatus = z.infer<typeof publishedStatus>;

const expiryIntervalMs = 60_000;

export interface StatusPublisher {
  publish(status: ProcessStatus): Promise<void>;
  /** Ends the publishing. @param keep leaves the last status, as after a crash */
  withdraw(keep: boolean): Promise<void>;
}

interface StatusPublisherDependencies {
  redis: RedisClient;
  /** Unique name of this process. */
  id: string;
  /** Redis' clock, in Unix milliseconds. */
  now: () => number;
}

/** One command for each status, and once a minute further ones, which keep the key and drop what is too old. */
export function createStatusPublisher({ redis, id, now }: StatusPublisherDependencies): StatusPublisher {
  const key = redisKeys.processStatuses;
  let expirySetAtMs = Number.NEGATIVE_INFINITY;
  let withdrawn = false;
  let own: ProcessStatus['gateway'] | undefined;

  async function write(status: ProcessStatus): Promise<void> {
    // An announcement may have been under way.
    if (withdrawn) return;
    own = status.gateway;
    await redis.hset(key, id, JSON.stringify({ ...status, at: now() }));
    if (now() - expirySetAtMs < expiryIntervalMs) return;
    expirySetAtMs = now();
    const outdated = Object.entries(await redis.hgetall(key))
      // Also those of another release, of which only the time is known.
      .filter(
        ([, text]) =>
          !(Math.abs(now() - (writtenAt.safeParse(parseJson(text)).data?.at ?? 0)) <= statusKeptMs),
      )
      .map(([id]) => id);
    if (outdated.length > 0) await redis.hdel(key, ...outdated);
    await redis.expire(key, statusKeptMs / 1000);
  }

  /** Ids of processes of gateways before this one, with its name: their crash is no news once this one has shut down. */
  async function readPredecessors(): Promise<string[]> {
    if (own === undefined) return [];
    const { id: gateway, host, adminAddress } = own;
    return (await readProcessStatuses(redis))
      .filter((status) => status.gateway.id !== gateway)
      .filter((status) => status.gateway.host === host && status.gateway.adminAddress === adminAddress)
      .map((status) => status.id);
  }

  return {
    publish: write,
    async withdraw(keep) {
      withdrawn = true;
      if (keep) return;
      await redis.hdel(key, id, ...(await readPredecessors()));
    },
  };
}

/** @returns what every process has published, except what another release has written in another form */
export async function readProcessStatuses(redis: RedisClient): Promise<PublishedStatus[]> {
  const published = await redis.hgetall(redisKeys.processStatuses);
  return Object.values(published).flatMap((text) => publishedStatus.safeParse(parseJson(text)).data ?? []);
}
