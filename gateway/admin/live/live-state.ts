import type { BusyKeyUsage } from '../../operations/busiest-key-usage.ts';
import type { combineMeasures } from '../../operations/fleet-measures.ts';
import type { FleetTraffic } from '../../operations/fleet-traffic.ts';
import type { GatewayView } from '../../operations/fleet-view.ts';
import type { Problem } from '../../operations/problems/problem.ts';
import type { UpstreamState } from '../../operations/problems/upstream-states.ts';
import type { RedisServerStatus } from '../../operations/redis-status.ts';

/** What consoles show, as of one second. The event `state` of /api/live. */
export interface LiveState {
  /** ISO 8601 in UTC by Redis' clock, as all times. */
  at: string;
  /** The state in a sentence. */
  summary: string;
  problems: Problem[];
  redis:
    | { available: true; servers: RedisServerStatus[] }
    /** Figures of this gateway go on; those of other gateways are as last seen. */
    | { available: false; since: string };
  /** Null in the first second. */
  traffic: FleetTraffic | null;
  activeBans: number;
  gateways: GatewayView[];
  /** Processes of a release that publishes no status. */
  withoutStatus: number;
  upstreams: UpstreamState[];
  /** What gateways have measured in the last minute. */
  recent: ReturnType<typeof combineMeasures>;
  /** Of the last minute, the busiest first. Null while they cannot be read. */
  busiestKeys: Pick<BusyKeyUsage, 'id' | 'name' | 'plan' | 'state' | 'requests' | 'refused'>[] | null;
}
