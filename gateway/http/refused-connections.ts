import type { Logger } from 'pino';
import { createOnceAMinute } from '../observability/log-throttle.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { ConnectionLimit } from './connection-limits.ts';
import type { HttpLimits } from './http-server.ts';

/** Tells operators of connections that are refused: each is counted, and the first of a minute is logged. */
export function createRefusalReport({
  log,
  metrics,
  limits,
}: {
  log: Logger;
  metrics: Pick<Metrics, 'refusedConnections'>;
  limits: HttpLimits;
}): (limit: ConnectionLimit, address: string) => void {
  const isDue = createOnceAMinute();
  return function reportRefusal(limit, address) {
    metrics.refusedConnections.inc({ limit });
    if (!isDue(limit)) return;
    if (limit === 'total') {
      log.warn(
        { maxConnections: limits.maxConnections },
        'Connections are refused: MAX_CONNECTIONS are open',
      );
    } else {
      log.warn(
        { address, maxConnectionsPerAddress: limits.maxConnectionsPerAddress },
        'Connections of an address are refused: MAX_CONNECTIONS_PER_ADDRESS are open',
      );
    }
  };
}
