import { setTimeout as sleep } from 'node:timers/promises';
import { presentSlots, readBusiestAddresses } from './busiest-addresses.ts';
import { readBusiestEndedKeys } from './busiest-keys.ts';
import { describeFleet } from './describe-fleet.ts';
import { readFleetStatus, type FleetStatus } from './fleet-status.ts';
import { createFleetTraffic } from './fleet-traffic.ts';
import { readLastHour } from './problems/last-hour.ts';
import { disagreementMs } from './problems/setting-problems.ts';
import { readRedisStatus, type RedisServerStatus } from './redis-status.ts';
import type { Session } from './session.ts';
import type { TrafficSummary } from './traffic-summary.ts';
import { readTraffic, type TrafficPoint } from './traffic.ts';

/** The state of the fleet, read once. The console's first page has the same facts each second. */
export interface FleetReport extends ReturnType<typeof describeFleet> {
  redis: { servers: RedisServerStatus[] };
  /** Traffic of the last minutes. */
  traffic: TrafficPoint;
}

const minuteMs = 60_000;
/** The first ones may be blocked already. */
const blockedAddresses = 9;
export const reportedMinutes = 5;

/** @param redisIsPrivate whether the gateway runs this Redis itself */
export async function readFleetReport(session: Session, redisIsPrivate: boolean): Promise<FleetReport> {
  const nowMs = session.now();
  const [{ fleet, disagreeingSince, perSecond }, servers, lastHour, busiestAddresses, endedKeys, { total }] =
    await Promise.all([
      readSettledFleet(session),
      readRedisStatus(session.redis),
      readLastHour(session),
      readBusiestAddresses(session, 1 + blockedAddresses, presentSlots),
      readBusiestEndedKeys(session),
      readTraffic(session, { fromMs: nowMs - reportedMinutes * minuteMs, toMs: nowMs, stepMs: minuteMs }),
    ]);
  const state = describeFleet({
    redis: { available: true, servers },
    redisIsPrivate,
    fleet,
    lastHour,
    perSecond,
    busiestAddresses,
    endedKeys,
    disagreeingSince,
  });
  return { ...state, redis: { servers }, traffic: total };
}

/**
 * Reads it twice: traffic is what is counted in between, and gateways that enforce different values just after a change take
 * them over meanwhile.
 */
async function readSettledFleet(session: Session): Promise<{
  fleet: FleetStatus;
  disagreeingSince: Map<string, number>;
  perSecond: TrafficSummary | undefined;
}> {
  const addReading = createFleetTraffic();
  const read = async () => {
    const fleet = await readFleetStatus(session);
    const processes = fleet.gateways.flatMap((gateway) => gateway.processes);
    return { fleet, traffic: addReading(processes, fleet.atMs) };
  };
  const { fleet: first } = await read();
  const disagreeingSince = new Map(first.disagreements.map(({ key }) => [key, first.atMs]));
  await sleep(disagreeingSince.size === 0 ? 1000 : disagreementMs + 100);
  const { fleet, traffic } = await read();
  return { fleet, disagreeingSince, perSecond: traffic?.perSecond };
}
