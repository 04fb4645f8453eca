import type { Logger } from 'pino';
import type { HttpLimits } from '../config/config.ts';
import type { Metrics } from '../observability/metrics.ts';
import { createLogThrottle } from '../runtime/log-throttle.ts';
import type { ConnectionLimit } from './connection-limits.ts';

interface RefusedConnectionReportDependencies {
  log: Logger;
  metrics: Pick<Metrics, 'refusedConnections'>;
  limits: HttpLimits;
}

/** Counts each refused connection, and logs the first one of a minute. */
export function createRefusedConnectionReport({
  log,
  metrics,
  limits,
}: RefusedConnectionReportDependencies): (limit: ConnectionLimit, address: string) => void {
  const isDue = createLogThrottle();
  return function reportRefusedConnection(limit, address) {
    metrics.refusedConnections.inc({ limit });
    if (!isDue(limit)) return;
    const { maxConnections, maxConnectionsPerAddress } = limits;
    if (limit === 'total') {
      log.warn({ maxConnections }, 'connections are refused: MAX_CONNECTIONS are open');
    } else {
      log.warn(
        { address, maxConnectionsPerAddress },
        'connections of an address are refused: MAX_CONNECTIONS_PER_ADDRESS are open',
      );
    }
  };
}
