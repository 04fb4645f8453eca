import { z } from 'zod';
import { nameWrongType, UnexpectedValue } from '../../platform/redis/redis-errors.ts';
import { busyCustomerSchema, readBusiestCustomerUsage } from '../customers/busiest-customers.ts';
import type { Session } from '../session.ts';
import { readTraffic, type TrafficPoint } from '../usage/traffic.ts';
import { describeFleet, fleetReportSchema, readFleetReport } from './fleet-report.ts';
import { groupByGateway } from './fleet-status.ts';
import type { Service } from './service.ts';

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

export interface LiveDependencies {
  /** Throws if Redis is unavailable. */
  read<T>(use: (session: Session) => Promise<T>): Promise<T>;
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
