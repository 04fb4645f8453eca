import { createLogThrottle } from '#runtime/log-throttle.ts';
import type { Logger } from 'pino';
import type { HttpLimits } from '../config/config.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { ConnectionLimit } from './connection-limits.ts';

interface ConnectionReportDependencies {
  log: Logger;
  metrics: Pick<Metrics, 'refusedConnections' | 'closedIdleConnections'>;
  limits: HttpLimits;
}

/** Counts each connection that is refused or closed because of a limit, and logs the first one of a minute. */
export function createConnectionReport({ log, metrics, limits }: ConnectionReportDependencies) {
  const { maxConnections, maxConnectionsPerAddress } = limits;
  const isDue = createLogThrottle();
  return {
    onClosedIdleConnection(): void {
      metrics.closedIdleConnections.inc();
      if (!isDue('idle')) return;
      log.warn({ maxConnections }, 'idle connections are closed for new ones: MAX_CONNECTIONS are open');
    },
    onRefusedConnection(limit: ConnectionLimit, address: string): void {
      metrics.refusedConnections.inc({ limit });
      if (!isDue(limit)) return;
      if (limit === 'total') {
        log.warn({ maxConnections }, 'connections are refused: MAX_CONNECTIONS are open');
      } else {
        log.warn(
          { address, maxConnectionsPerAddress },
          'connections of an address are refused: MAX_CONNECTIONS_PER_ADDRESS are open',
        );
      }
    },
  };
}
