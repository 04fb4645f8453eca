import { z } from 'zod';
import { valueSource } from './invalid-values.ts';

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

export const processStatus = z.object({
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
