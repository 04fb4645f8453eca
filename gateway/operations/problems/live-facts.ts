import type { BusyAddress } from '../busiest-addresses.ts';
import type { EndedKeyUse } from '../busiest-keys.ts';
import type { FleetStatus } from '../fleet-status.ts';
import type { RedisServerStatus } from '../redis-status.ts';
import type { TrafficSummary } from '../traffic-summary.ts';
import type { TrafficPoint } from '../traffic.ts';
import type { UpstreamState } from './upstream-states.ts';

/** What the problems are found in. */
export interface LiveFacts {
  /** Unix milliseconds by Redis' clock. */
  nowMs: number;
  redis: RedisFacts;
  /** Whether the gateway has started Redis itself. */
  redisIsPrivate: boolean;
  /** As last read, if Redis is unavailable. */
  fleet: FleetStatus;
  upstreams: readonly UpstreamState[];
  /** The last hour by the minute, oldest first; empty while it is unknown. */
  lastHour: readonly TrafficPoint[];
  /** Counts a second over the last five seconds; undefined in the first second. */
  perSecond: TrafficSummary | undefined;
  /** Addresses with the most refused requests in the last 20 seconds; empty while they are unknown. */
  busiestAddresses: readonly BusyAddress[];
  /** Keys that were used after their end in the last minute, the busiest first. */
  endedKeys: readonly EndedKeyUse[];
  /** Settings that gateways have been enforcing differently, with the time since when, in Unix milliseconds. */
  disagreeingSince: ReadonlyMap<string, number>;
}

export type RedisFacts =
  | { available: true; servers: readonly RedisServerStatus[] }
  /** @param since ISO 8601 */
  | { available: false; since: string };
