import type { Logger } from 'pino';
import type { Metrics } from '../metrics.ts';
import type { ConnectionLimit } from './connection-limits.ts';
import type { HttpLimits } from './http-server.ts';

const toldMs = 60_000;

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
  const toldAtMs = new Map<ConnectionLimit, number>();
  return function reportRefusal(limit, address) {
    metrics.refusedConnections.inc({ limit });
    const now = performance.now();
    if (now - (toldAtMs.get(limit) ?? -Infinity) < toldMs) return;
    toldAtMs.set(limit, now);
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
