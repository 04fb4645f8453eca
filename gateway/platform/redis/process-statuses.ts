import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { valueSource } from '../observability/invalid-values.ts';
import type { RedisClient } from './redis-client.ts';
import { redisKeys } from './redis-keys.ts';
import { parseJson } from './redis-values.ts';

const isoTime = z.iso.datetime();
const count = z.number().nonnegative();

/** The gateway that a process belongs to: one process, or a primary and its workers. */
const gatewayIdentity = z.object({
  /** Another one at each start. */
  id: z.string(),
  /** Name of the machine, the container or the pod. */
  host: z.string(),
  /** Host and port of the admin port; undefined until it listens. */
  adminAddress: z.string().optional(),
  /** Where a browser on the machine of the gateway opens its console, or ADMIN_URL. */
  consoleOrigin: z.url({ protocol: /^https?$/ }).optional(),
  startedAt: isoTime,
  /** Processes that are to serve requests. */
  workers: z.int().positive(),
  /** When workers exited unexpectedly, within the last 15 minutes. */
  restartedAt: z.array(isoTime),
});

const counts = z.record(z.string(), count);

/** What a process has counted and measured in the last minute (recent-measures.ts). */
export const recentMeasures = z.object({
  /** Requests by class of status. */
  byStatus: counts,
  /** Requests refused over a limit or during a ban, by plan. */
  refused: counts,
  /** Requests refused for want of a valid key. */
  unauthenticated: count,
  bans: count,
  /** Served requests by upper bound of their duration in milliseconds. */
  durations: counts,
  redisP99Ms: count.nullable().describe('Of the slowest process; null with few commands'),
  upstreamP99Ms: count.nullable().describe('Of the slowest process; null with few requests'),
  errors: counts.describe('Error responses of the gateways by code'),
});

const localModePeriod = z.object({ from: isoTime, to: isoTime.nullable() });

const processStatus = z.object({
  /** Another one at each start. */
  id: z.string(),
  gateway: gatewayIdentity,
  /** Number of the worker; null in a gateway of one process. Numbers are not used again. */
  worker: z.int().nullable(),
  pid: z.int(),
  version: z.string(),
  startedAt: isoTime,
  state: z.enum(['starting', 'ok', 'draining']),
  /** State of each instance by its origin, by the name of its service. */
  services: z.record(z.string(), z.record(z.string(), z.enum(['unknown', 'ready', 'not_ready', 'down']))),
  /** What the operations of its services ask of keys. */
  access: z.exactOptional(
    z.object({
      scopes: z.array(z.string()),
      costs: z.array(z.object({ operation: z.string(), units: z.int(), scopes: z.array(z.string()) })),
    }),
  ),
  /** Invalid values in Redis that this process has read. Not all of them, if there are many. */
  invalidSettings: z.array(z.object({ key: z.string(), issues: z.array(z.string()), inForce: valueSource })),
  /** Whether Redis came back empty. */
  redisEmptied: z.boolean(),
  /** When Redis was last unavailable to this process, which then decided alone; `to` is null while it is. */
  localMode: localModePeriod.nullable(),
  recent: recentMeasures,
  /** Open client connections. */
  connections: count,
  /** Share of the last half second in which the event loop was busy. */
  busy: count,
  /** Memory of the process. */
  rssBytes: count,
});

export type GatewayIdentity = z.infer<typeof gatewayIdentity>;
export type RecentMeasures = z.infer<typeof recentMeasures>;
export type ProcessStatus = z.infer<typeof processStatus>;

/** Processes that ended without saying so, as after a crash, are shown this long. */
export const statusKeptMs = 15 * 60_000;

/** The same in Redis, with the time that it was written at, in Unix milliseconds by Redis' clock. */
const writtenAt = z.object({ at: z.number() });
export const publishedStatus = processStatus.extend(writtenAt.shape);

export type PublishedStatus = z.infer<typeof publishedStatus>;

interface AnnouncementDependencies {
  redis: RedisClient;
  readStatus: () => Promise<ProcessStatus>;
  /** Settings that this process enforces now. */
  enforced: () => EnforcedSettings;
  /** Redis' clock, in Unix milliseconds, so that the clocks of the machines do not matter. */
  now: () => number;
}

const expiryIntervalMs = 60_000;

/** This process among those that share a Redis: one command each time, and once a minute further ones, which keep the key and drop what is too old. */
export function createAnnouncement(dependencies: AnnouncementDependencies) {
  const { redis, readStatus, enforced, now } = dependencies;
  const key = redisKeys.processStatuses;
  const id = randomUUID();
  let expirySetAtMs = Number.NEGATIVE_INFINITY;
  let withdrawn = false;

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

  return {
    /** Name of the process, another one at each start. */
    id,
    /**
     * Publishes what the process says of itself, and the settings that it enforces.
     * @throws Error if Redis refuses the writes, or is unavailable
     */
    async publish(): Promise<void> {
      const status = await readStatus();
      if (withdrawn) return;
      await redis.hset(key, id, JSON.stringify({ ...status, at: now(), enforced: enforced() }));
      await expire();
    },
    /** Takes the process off the list, at the end. Never rejects. */
    async withdraw(): Promise<void> {
      withdrawn = true;
      await redis.hdel(key, id).catch(() => 0);
    },
  };
}

/** @returns what every process has published, except what another release has written in another form */
export async function readProcessStatuses(redis: RedisClient): Promise<PublishedStatus[]> {
  const published = await redis.hgetall(redisKeys.processStatuses);
  return Object.values(published).flatMap((text) => publishedStatus.safeParse(parseJson(text)).data ?? []);
}

/** Fields of settings as text, by the name of their Redis key. */
const settings = z.record(z.string(), z.record(z.string(), z.string()));
const enforcedSettings = z.object({
  /** Last valid values, read from Redis or taken over from another process. */
  known: settings,
  /** Built-in defaults, in force because no other value was found. */
  defaults: settings,
});

const publishedSettings = writtenAt.extend({
  gateway: gatewayIdentity.pick({ id: true }),
  enforced: enforcedSettings,
});

/** The settings that one process enforces. */
export type EnforcedSettings = z.infer<typeof enforcedSettings>;

/** The same with the gateway of the process. */
export type ProcessSettings = EnforcedSettings & { gateway: string };

/** A process that was seen longer ago has ended without saying so. */
const runningMs = 60_000;

/**
 * Reads what running processes enforce, the one seen last first.
 * @param withinMs leaves out processes that were not seen for longer, by Redis' clock
 */
export async function readEnforcedSettings(
  redis: RedisClient,
  withinMs = runningMs,
): Promise<ProcessSettings[]> {
  const [[seconds = 0], statuses] = await Promise.all([
    redis.time(),
    redis.hgetall(redisKeys.processStatuses),
  ]);
  return Object.values(statuses)
    .flatMap((text) => publishedSettings.safeParse(parseJson(text)).data ?? [])
    .filter(({ at }) => Math.abs(seconds * 1000 - at) <= withinMs)
    .toSorted((one, other) => other.at - one.at)
    .map(({ gateway, enforced }) => Object.assign(enforced, { gateway: gateway.id }));
}

export function mergeEnforced(settings: readonly EnforcedSettings[]): EnforcedSettings {
  return {
    known: Object.assign({}, ...settings.map(({ known }) => known)),
    defaults: Object.assign({}, ...settings.map(({ defaults }) => defaults)),
  };
}
