import type { BusyKeyUsage } from '../../operations/busiest-key-usage.ts';
import type { FleetGateway, FleetProcess } from '../../operations/fleet-status.ts';
import type { FleetTraffic } from '../../operations/fleet-traffic.ts';
import type { RedisServerStatus } from '../../operations/redis-status.ts';
import type { Problem } from './problem.ts';
import type { UpstreamState } from './upstream-states.ts';

/** What consoles show, as of one second. The event `state` of /api/live. */
export interface LiveState {
  /** ISO 8601 in UTC by Redis' clock, as all times. */
  at: string;
  problems: Problem[];
  redis:
    | { available: true; servers: RedisServerStatus[] }
    /** Figures of this gateway go on; those of other gateways are as last seen. */
    | { available: false; since: string };
  /** Null in the first second. */
  traffic: FleetTraffic | null;
  activeBans: number;
  gateways: (Omit<FleetGateway, 'processes'> & { processes: LiveProcess[] })[];
  /** Processes of a release that publishes no status. */
  withoutStatus: number;
  upstreams: UpstreamState[];
  /** Of the last minute, the busiest first. Null while they cannot be read. */
  busiestKeys: Pick<BusyKeyUsage, 'id' | 'name' | 'plan' | 'state' | 'requests' | 'refused'>[] | null;
}

/** A process without what the rest of the state has of it. */
export type LiveProcess = Omit<
  FleetProcess,
  'counts' | 'keysInUse' | 'invalidSettings' | 'lostKeys' | 'seenAtMs' | 'upstreams' | 'services'
> & {
  /** ISO 8601. */
  seenAt: string;
};

export function liveGateway({ processes, ...gateway }: FleetGateway): LiveState['gateways'][number] {
  return { ...gateway, processes: processes.map(liveProcess) };
}

function liveProcess(process: FleetProcess): LiveProcess {
  const {
    counts: _,
    keysInUse: _k,
    invalidSettings: _i,
    lostKeys: _l,
    upstreams: _u,
    services: _s,
    seenAtMs,
    ...shown
  } = process;
  return { ...shown, seenAt: new Date(seenAtMs).toISOString() };
}
