import { z } from 'zod';
import { busyCustomerSchema, readBusiestCustomerUsage } from '../../control/customers/busiest-customers.ts';
import { listOf } from '../../control/list-schemas.ts';
import { describeFleet, fleetReportSchema, readFleetReport } from '../../control/status/fleet-report.ts';
import { groupByGateway } from '../../control/status/fleet-status.ts';
import type { Service } from '../../control/status/service.ts';
import { readTraffic, trafficPointSchema, type TrafficPoint } from '../../control/usage/traffic.ts';
import { nameWrongType, UnexpectedValue } from '../../platform/redis/redis-errors.ts';
import { route, type RouteApi } from './route.ts';
import type { SessionApi } from './sessions.ts';

/** What consoles show, as of one moment. */
export const liveStateSchema = fleetReportSchema
  .extend({
    busiestCustomers: z
      .array(busyCustomerSchema)
      .nullable()
      .describe('Of the last minute, the busiest first; null while they cannot be read'),
  })
  .meta({ id: 'LiveState' });

export type LiveState = z.infer<typeof liveStateSchema>;

export interface LiveDependencies extends Pick<RouteApi, 'read'> {
  /** This gateway itself, whose state is known without Redis. */
  service: Pick<Service, 'health' | 'statuses'>;
  /** Whether the gateway runs this Redis itself. */
  redisIsPrivate: boolean;
  /** Unix milliseconds. */
  now: () => number;
}

/** What consoles poll. One reading serves all of them for some time. */
export interface Live {
  state: () => Promise<LiveState>;
  traffic: () => Promise<TrafficPoint[]>;
}

const stateMaxAgeMs = 1000;
const trafficMaxAgeMs = 10_000;
const busiestCount = 10;

export function createLive({ read, service, redisIsPrivate, now }: LiveDependencies): Live {
  async function readState(): Promise<LiveState> {
    const since = service.health().redisUnavailableSince;
    if (since !== undefined) return describeAlone(since);
    try {
      return await read(async (session) => ({
        ...(await readFleetReport(session, redisIsPrivate)),
        busiestCustomers: await readBusiestCustomerUsage(session, busiestCount).catch(() => null),
      }));
    } catch (error) {
      if (nameWrongType(error) instanceof UnexpectedValue) throw error;
      // This gateway may not have noticed yet.
      return describeAlone(new Date(now()).toISOString());
    }
  }

  /** What this gateway knows itself while Redis is unavailable. */
  async function describeAlone(since: string): Promise<LiveState> {
    const atMs = now();
    const statuses = (await service.statuses()).map((status) => Object.assign({}, status, { at: atMs }));
    const gateways = groupByGateway(statuses, atMs);
    const unknown = { activeBans: 0, invalidSettings: [], disabledWebhooks: [] };
    return {
      ...describeFleet({
        redis: { available: false, since },
        redisIsPrivate,
        fleet: { atMs, gateways, ...unknown },
      }),
      busiestCustomers: null,
    };
  }

  return {
    state: shared(stateMaxAgeMs, readState),
    traffic: shared(trafficMaxAgeMs, () => read(readTraffic)),
  };
}

/** Reads once for all who ask within a time. A reading that fails is made again for the next one. */
export function shared<T>(maxAgeMs: number, read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined;
  let readAtMs = 0;
  return function readShared() {
    const nowMs = performance.now();
    if (reading === undefined || nowMs - readAtMs > maxAgeMs) {
      readAtMs = nowMs;
      reading = read();
      reading.catch(() => (reading = undefined));
    }
    return reading;
  };
}

export interface LiveApi extends SessionApi {
  live: Live;
}

export const liveRoutes = [
  route({
    operationId: 'getLive',
    http: 'GET /live',
    noun: 'traffic',
    summary: 'What is wrong, gateways, services, Redis, and what was counted in the last minute',
    description: 'The overview asks for it every two seconds; one reading serves all consoles for a second.',
    responds: 'The state of all gateways',
    result: liveStateSchema,
    handle: (_call, { live }: LiveApi) => live.state(),
  }),
  route({
    operationId: 'getTraffic',
    http: 'GET /traffic',
    summary: 'Requests of all gateways by the minute in the last 24 hours',
    description:
      'A minute is there some seconds after its end; one reading serves all consoles for ten seconds.',
    responds: 'A point for each minute, oldest first, without those amid others without requests',
    result: listOf(trafficPointSchema),
    handle: async (_call, { live }: LiveApi) => ({ items: await live.traffic(), next: null }),
  }),
];
