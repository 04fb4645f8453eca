import { z } from 'zod';
import { busyCustomerSchema, readBusiestCustomerUsage } from '../customers/busiest-customers.ts';
import type { Session } from '../session.ts';
import { readTraffic } from '../usage/traffic.ts';
import { fleetReportSchema, readFleetReport } from './fleet-report.ts';

/** What consoles show, as of one moment. */
export const liveStateSchema = fleetReportSchema
  .extend({
    busiestCustomers: z.array(busyCustomerSchema).describe('Of the last minute, the busiest first'),
  })
  .meta({ id: 'LiveState' });

export type LiveState = z.infer<typeof liveStateSchema>;

export interface LiveDependencies {
  /** Throws if Redis is unavailable. */
  read<T>(use: (session: Session) => Promise<T>): Promise<T>;
  /** Whether the gateway runs this Redis itself. */
  redisIsPrivate: boolean;
}

const stateMaxAgeMs = 1000;
const trafficMaxAgeMs = 10_000;
const busiestCount = 10;

export type Live = ReturnType<typeof createLive>;

/** What consoles poll. One reading serves all of them for some time. */
export function createLive({ read, redisIsPrivate }: LiveDependencies) {
  const readState = async (session: Session): Promise<LiveState> => ({
    ...(await readFleetReport(session, redisIsPrivate)),
    busiestCustomers: await readBusiestCustomerUsage(session, busiestCount),
  });
  return {
    state: shared(stateMaxAgeMs, () => read(readState)),
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
