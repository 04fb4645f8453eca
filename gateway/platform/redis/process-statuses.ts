import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { processStatus, statusKeptMs, type ProcessStatus } from '../observability/process-status.ts';
import type { EnforcedSettings } from './enforced-settings.ts';
import { parseJson } from './parse-json.ts';
import type { RedisClient } from './redis-client.ts';
import { redisKeys } from './redis-keys.ts';

/** The same in Redis, with the time that it was written at, in Unix milliseconds by Redis' clock. */
const writtenAt = z.object({ at: z.number() });
export const publishedStatus = processStatus.extend(writtenAt.shape);

export type PublishedStatus = z.infer<typeof publishedStatus>;

/** A worker whose primary was killed ends, too, and leaves its status as the trace of a crash. */
export type EndCause = 'shutdown' | 'primary_lost';

/** This process among those that share a Redis. */
export interface Announcement {
  /** Name of the process, another one at each start. */
  readonly id: string;
  /**
   * Publishes what the process says of itself, and the settings that it enforces.
   * @throws Error if Redis refuses the writes, or is unavailable
   */
  publish(): Promise<void>;
  /** Takes the process off the list, at the end. Never rejects. @param cause why it ends */
  withdraw(cause?: EndCause): Promise<void>;
}

interface AnnouncementDependencies {
  redis: RedisClient;
  readStatus: () => Promise<ProcessStatus>;
  /** Settings that this process enforces now. */
  enforced: () => EnforcedSettings;
  /** Redis' clock, in Unix milliseconds, so that the clocks of the machines do not matter. */
  now: () => number;
}

const expiryIntervalMs = 60_000;

/** One command each time, and once a minute further ones, which keep the key and drop what is too old. */
export function createAnnouncement(dependencies: AnnouncementDependencies): Announcement {
  const { redis, readStatus, enforced, now } = dependencies;
  const key = redisKeys.processStatuses;
  const id = randomUUID();
  let expirySetAtMs = Number.NEGATIVE_INFINITY;
  /** Settings that Redis was told were set once, so that their defaults are not written again. */
  let remembered = '';
  let withdrawn = false;
  let own: ProcessStatus['gateway'] | undefined;

  async function expire(): Promise<void> {
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
    id,
    async publish() {
      const status = await readStatus();
      if (withdrawn) return;
      own = status.gateway;
      const settings = enforced();
      const added = await redis.hset(key, id, JSON.stringify({ ...status, at: now(), enforced: settings }));
      // Without the status, everything that this process has written may be lost.
      if (added === 1) remembered = '';
      const known = Object.keys(settings.known);
      if (known.join() !== remembered) {
        await redis.sadd(redisKeys.settings, ...known);
        remembered = known.join();
      }
      await expire();
    },
    async withdraw(cause) {
      withdrawn = true;
      if (cause === 'primary_lost') return;
      await readPredecessors()
        .then((predecessors) => redis.hdel(key, id, ...predecessors))
        .catch(() => 0);
    },
  };
}

/** @returns what every process has published, except what another release has written in another form */
export async function readProcessStatuses(redis: RedisClient): Promise<PublishedStatus[]> {
  const published = await redis.hgetall(redisKeys.processStatuses);
  return Object.values(published).flatMap((text) => publishedStatus.safeParse(parseJson(text)).data ?? []);
}
