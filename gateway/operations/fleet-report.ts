import { setTimeout as sleep } from 'node:timers/promises';
import type { RecentMeasures } from '../traffic/recent-measures.ts';
import { readBusiestAddresses } from './busiest-addresses.ts';
import { combineMeasures } from './fleet-measures.ts';
import { readFleetStatus, type FleetStatus } from './fleet-status.ts';
import { createFleetTraffic } from './fleet-traffic.ts';
import { viewGateway, type GatewayView } from './fleet-view.ts';
import { findProblems } from './problems/find-problems.ts';
import { readLastHour } from './problems/last-hour.ts';
import type { Problem } from './problems/problem.ts';
import { disagreementMs } from './problems/setting-problems.ts';
import { summarizeProblems } from './problems/summarize-problems.ts';
import { combineUpstreams, type UpstreamState } from './problems/upstream-states.ts';
import { readRedisStatus, type RedisServerStatus } from './redis-status.ts';
import type { Session } from './session.ts';
import type { TrafficSummary } from './traffic-summary.ts';
import { readTraffic, type TrafficPoint } from './traffic.ts';

/** The state of the fleet, read once. The console's first page has the same facts each second. */
export interface FleetReport {
  /** ISO 8601 in UTC by Redis' clock. */
  at: string;
  /** The state in a sentence. */
  summary: string;
  problems: Problem[];
  redis: { servers: RedisServerStatus[] };
  /** Traffic of the last minutes. */
  traffic: TrafficPoint;
  activeBans: number;
  gateways: GatewayView[];
  /** Processes of a release that publishes no status. */
  withoutStatus: number;
  upstreams: UpstreamState[];
  /** What gateways have measured in the last minute. */
  recent: RecentMeasures;
}

const minuteMs = 60_000;
/** The first ones may be blocked already. */
const blockedAddresses = 9;
export const reportedMinutes = 5;

/** @param redisIsPrivate whether the gateway runs this Redis itself */
export async function readFleetReport(session: Session, redisIsPrivate: boolean): Promise<FleetReport> {
  const nowMs = session.now();
  const [{ fleet, disagreeingSince, perSecond }, servers, lastHour, busiestAddresses, { total }] =
    await Promise.all([
      readSettledFleet(session),
      readRedisStatus(session.redis),
      readLastHour(session),
      readBusiestAddresses(session, 1 + blockedAddresses),
      readTraffic(session, { fromMs: nowMs - reportedMinutes * minuteMs, toMs: nowMs, stepMs: minuteMs }),
    ]);
  const upstreams = combineUpstreams(fleet.gateways);
  const problems = findProblems({
    nowMs: fleet.atMs,
    redis: { available: true, servers },
    redisIsPrivate,
    fleet,
    upstreams,
    lastHour,
    perSecond,
    busiestAddresses,
    disagreeingSince,
  });
  return {
    at: new Date(fleet.atMs).toISOString(),
    summary: summarizeProblems(problems),
    problems,
    redis: { servers },
    traffic: total,
    activeBans: fleet.activeBans,
    gateways: fleet.gateways.map(viewGateway),
    withoutStatus: fleet.withoutStatus.length,
    upstreams,
    recent: combineMeasures(fleet.gateways),
  };
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
