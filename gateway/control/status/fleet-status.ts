import { z } from 'zod';
import {
  publishedStatus,
  readProcessStatuses,
  type PublishedStatus,
} from '../../platform/redis/process-statuses.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import type { Fields } from '../../platform/redis/settings.ts';
import { builtInPlans } from '../../quota/plan-settings.ts';
import { countBans } from '../bans/bans.ts';
import { readLimitedPlans } from '../plans/plan-names.ts';
import { settingPage } from '../plans/settings.ts';
import type { ReadingSession } from '../session.ts';
import { listWebhooks } from '../webhooks/webhooks.ts';

/** A process announces itself every half second. One that has not done so for this long hangs, has crashed, or is cut off. */
const notSeenMs = 5000;

const time = z.iso.datetime();

/** A process as operators see it: without what the rest of the state has of it. */
const processSchema = publishedStatus
  .omit({
    gateway: true,
    at: true,
    invalidSettings: true,
    redisEmptied: true,
    services: true,
    recent: true,
  })
  .extend({
    worker: z.int().nullable().describe('Null in a gateway of one process'),
    seenAt: time,
    state: z.enum(['starting', 'ok', 'draining', 'not_seen']),
    localMode: publishedStatus.shape.localMode.describe(
      'When Redis was last unavailable to it; `to` is null while it is',
    ),
    connections: z.int().describe('Open client connections'),
    busy: z.number().describe('Share of the last half second in which its event loop was busy'),
    rssBytes: z.int(),
  });

/** A gateway as operators see it. */
export const gatewaySchema = publishedStatus.shape.gateway
  .extend({
    id: z.string().describe('Another one at each start'),
    workers: z.int().describe('Processes that are to serve requests'),
    version: z.string(),
    /** `not_seen` if none of its processes was seen, `incomplete` if fewer than there should be. */
    state: z.enum(['starting', 'ok', 'draining', 'incomplete', 'not_seen']),
    processes: z.array(processSchema),
    restartedAt: z.array(time).describe('Unexpected exits of workers in the last 15 minutes'),
  })
  .meta({ id: 'Gateway' });

export type GatewayView = z.infer<typeof gatewaySchema>;

/** A process that serves requests, with all that it says of itself. */
export type FleetProcess = Omit<PublishedStatus, 'gateway' | 'state' | 'at'> &
  Pick<z.infer<typeof processSchema>, 'seenAt' | 'state'>;

export interface FleetGateway extends Omit<GatewayView, 'processes'> {
  processes: FleetProcess[];
}

export type FleetStatus = Awaited<ReturnType<typeof readFleetStatus>>;

/** Reads what all gateways and workers say of themselves. Times are those of Redis' clock. */
export async function readFleetStatus({ redis, now }: ReadingSession) {
  const [statuses, activeBans, webhooks] = await Promise.all([
    readProcessStatuses(redis),
    countBans({ redis, now }),
    listWebhooks({ redis }),
  ]);
  const atMs = now();
  const gateways = groupByGateway(statuses, atMs);
  const live = gateways.flatMap(({ processes }) => processes).filter(({ state }) => state !== 'not_seen');
  return {
    atMs,
    gateways,
    activeBans,
    invalidSettings: await readInvalidSettings(redis, live),
    disabledWebhooks: webhooks.flatMap(({ id, state, disabledBecause }) =>
      state === 'disabled' ? [{ id, disabledBecause }] : [],
    ),
  };
}

/**
 * Gateways by name, the ones that were not seen last. One that was started again takes the place of the one before, and of
 * several that crashed the newest counts.
 */
function groupByGateway(statuses: readonly PublishedStatus[], atMs: number): FleetGateway[] {
  const byId = Map.groupBy(statuses, ({ gateway }) => gateway.id);
  const gateways = Array.from(byId.values(), (ofGateway) => describeGateway(ofGateway, atMs));
  const isLive = ({ state }: FleetGateway) => state !== 'not_seen';
  const lastSeenMs = ({ processes }: FleetGateway) =>
    Math.max(...processes.map(({ seenAt }) => Date.parse(seenAt)));
  return Array.from(Map.groupBy(gateways, gatewayName).values())
    .flatMap((ofName) => {
      const [live, gone] = [ofName.filter(isLive), ofName.filter((gateway) => !isLive(gateway))];
      const [newest] = gone.toSorted((one, other) => lastSeenMs(other) - lastSeenMs(one));
      return live.length === 0 && newest !== undefined ? [newest] : live;
    })
    .toSorted(
      (one, other) =>
        Number(isLive(other)) - Number(isLive(one)) ||
        gatewayName(one).localeCompare(gatewayName(other)) ||
        one.startedAt.localeCompare(other.startedAt),
    );
}

/** Name that an operator knows a gateway by. */
export function gatewayName({ host, adminAddress }: Pick<FleetGateway, 'host' | 'adminAddress'>): string {
  return adminAddress === undefined ? host : `${host} (${adminAddress})`;
}

function describeGateway(statuses: readonly PublishedStatus[], atMs: number): FleetGateway {
  const all = statuses
    .map((status) => describeProcess(status, atMs))
    .toSorted((one, other) => (one.worker ?? 0) - (other.worker ?? 0));
  // The newest one knows most: workers are told of restarts when they start.
  const newest = statuses.reduce((one, other) => (other.startedAt > one.startedAt ? other : one));
  const { workers } = newest.gateway;
  const live = all.filter(({ state }) => state !== 'not_seen');
  return {
    ...newest.gateway,
    version: newest.version,
    state: stateOf(live, workers),
    // A worker that was replaced is no longer missed.
    processes: [...live, ...all.filter((process) => !live.includes(process))].slice(
      0,
      Math.max(live.length, workers),
    ),
  };
}

function describeProcess(
  { gateway: _gateway, at, state, ...status }: PublishedStatus,
  atMs: number,
): FleetProcess {
  const isSeen = Math.abs(atMs - at) <= notSeenMs;
  return { ...status, seenAt: new Date(at).toISOString(), state: isSeen ? state : 'not_seen' };
}

function stateOf(live: readonly FleetProcess[], workers: number): FleetGateway['state'] {
  if (live.length === 0) return 'not_seen';
  if (live.some(({ state }) => state === 'draining')) return 'draining';
  if (live.length < workers) return 'incomplete';
  return live.every(({ state }) => state === 'ok') ? 'ok' : 'starting';
}

/**
 * Invalid values in Redis, with the number of processes that report them, and how many of these have no values in force. The
 * stored fields say which value is invalid. Records of keys are left out: they have names of customers.
 */
async function readInvalidSettings(redis: RedisClient, processes: readonly FleetProcess[]) {
  const reports = processes.flatMap(({ invalidSettings }) => invalidSettings);
  const byKey = Map.groupBy(reports, ({ key }) => key);
  // A process reports an operator's own plan only when it serves a key on it.
  const ownPlans = (await readLimitedPlans(redis)).filter((name) => !builtInPlans.has(name));
  const missing = await Promise.all(
    ownPlans.map(async (name) => (await redis.exists(redisKeys.plan(name))) === 0),
  );
  for (const name of ownPlans.filter((_name, index) => missing[index])) {
    if (!byKey.has(redisKeys.plan(name))) byKey.set(redisKeys.plan(name), []);
  }
  return Promise.all(
    Array.from(byKey, async ([key, ofKey]) => ({
      key,
      issues: ofKey.length === 0 ? [planIsMissing] : [...new Set(ofKey.flatMap(({ issues }) => issues))],
      stored: settingPage(key) ? await redis.hgetall(key).catch((): Fields => ({})) : {},
      processes: ofKey.length,
      withoutValues: ofKey.filter(({ inForce }) => inForce === 'none').length,
    })),
  );
}

const planIsMissing = 'is missing: keys on this plan get 503 from a gateway that has not served one before';
