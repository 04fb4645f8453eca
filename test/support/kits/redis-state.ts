import { pino } from 'pino';
import { createMetrics } from '../../../gateway/platform/observability/metrics.ts';
import { createGatewayIdentity, createProcessStatus } from '../../../gateway/process/process-status.ts';
import { createRedisState, type RedisState } from '../../../gateway/process/redis-state.ts';

/** What a gateway has of its Redis, in this process. */
export function startRedisState(url: string): RedisState {
  const metrics = createMetrics();
  const readStatus = createProcessStatus({
    gateway: createGatewayIdentity(1),
    worker: null,
    metrics,
    health: () => ({ status: 'ok', services: {} }),
    access: () => ({ scopes: [], costs: [] }),
    state: () => state,
  });
  const log = pino({ level: 'silent' });
  const state = createRedisState({ url, isPrivate: false, log, metrics, readStatus, now: Date.now });
  return state;
}
