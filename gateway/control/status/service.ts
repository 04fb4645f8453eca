import type { Shutdown } from '#runtime/lifecycle.ts';
import type { TargetState } from '../../upstream/upstreams.ts';

/** What serves requests: this process, or the workers that it has started. */
export interface Service {
  /**
   * Begins to accept connections.
   * @returns the port
   * @throws Error that says why it can't
   */
  listen(): Promise<number>;
  /** State as last known. */
  health(): Health;
  /** Metrics in Prometheus' text format. */
  metrics(): Promise<string>;
  /** Lets requests in flight finish, as `createDrain` does. */
  drain(shutdown: Shutdown): Promise<void>;
  /** Closes connections to Redis and the upstream, and ends workers. */
  close(): Promise<void>;
}

/** Body of /readyz on the admin port. */
export interface Health {
  /** Requests are served only while this is ok. */
  status: 'starting' | 'ok' | 'draining';
  redis: 'ok' | 'unavailable';
  /** ISO 8601 in UTC; only while Redis is unavailable. */
  redisUnavailableSince?: string;
  /** State of each upstream by its origin. */
  upstreams: Record<string, TargetState>;
  /** The same by the name of the service. */
  services: Record<string, Record<string, TargetState>>;
  /** Requests that were served without Redis and are not yet in its day counters. */
  unreportedRequests: number;
  /** Only if the gateway is more than one process. */
  workers?: { ready: number; wanted: number };
}
