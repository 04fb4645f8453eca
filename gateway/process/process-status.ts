import { hostname } from 'node:os';
import { performance } from 'node:perf_hooks';
import { readVersion } from '#runtime/version.ts';
import type { Health } from '../control/status/service.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import type { GatewayIdentity, ProcessStatus } from '../platform/redis/process-statuses.ts';
import { createRecentMeasures } from '../quota/recent-measures.ts';
import type { ApiDescription } from '../upstream/api-description.ts';
import type { RedisState } from './redis-state.ts';

interface ProcessStatusDependencies {
  gateway: GatewayIdentity;
  /** Number of the worker; null in a gateway of one process. */
  worker: number | null;
  metrics: Metrics;
  health: () => Pick<Health, 'status' | 'services'>;
  access: () => ApiDescription['access'];
  state: () => Pick<RedisState, 'announcement' | 'invalidValues' | 'localMode' | 'setUpMarker'>;
}

/** Many records of keys can be invalid. The first ones say enough. */
const maxInvalidSettings = 20;
/** In a shorter time, a single task would look like a busy process. */
const minimumBusyMs = 200;

const version = readVersion();

/**
 * Creates the reading of what this process says of itself for consoles. It takes what the process counts anyway, so that a
 * request costs nothing more.
 */
export function createProcessStatus(dependencies: ProcessStatusDependencies): () => Promise<ProcessStatus> {
  const { gateway, worker, metrics, health, access, state } = dependencies;
  const startedAt = new Date(performance.timeOrigin).toISOString();
  const readBusy = createBusyReading();
  const readRecent = createRecentMeasures(metrics);
  return async function readProcessStatus() {
    const { announcement, invalidValues, localMode, setUpMarker } = state();
    const { status, services } = health();
    const [recent, connections] = await Promise.all([readRecent(), metrics.connections.get()]);
    return {
      id: announcement.id,
      gateway,
      worker,
      pid: process.pid,
      version,
      startedAt,
      state: status,
      services,
      access: access(),
      invalidSettings: invalidValues
        .list()
        .slice(0, maxInvalidSettings)
        .map(({ key, issues, inForce }) => ({ key, issues: [...issues], inForce })),
      redisEmptied: setUpMarker.isMissing(),
      localMode: localMode.last(),
      recent,
      connections: connections.values[0]?.value ?? 0,
      busy: readBusy(),
      rssBytes: process.memoryUsage.rss(),
    };
  };
}

/** @param workers processes that are to serve requests */
export function createGatewayIdentity(workers: number): GatewayIdentity {
  return {
    id: crypto.randomUUID(),
    host: hostname(),
    startedAt: new Date(performance.timeOrigin).toISOString(),
    workers,
    restartedAt: [],
  };
}

/** @returns a function that reads the share of the time since it was last called in which the event loop was busy */
function createBusyReading(): () => number {
  let before = performance.eventLoopUtilization();
  let busy = 0;
  return function readBusy() {
    const now = performance.eventLoopUtilization();
    const { idle, active, utilization } = performance.eventLoopUtilization(now, before);
    if (idle + active >= minimumBusyMs) {
      before = now;
      busy = Math.round(utilization * 1000) / 1000;
    }
    return busy;
  };
}
