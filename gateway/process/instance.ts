import type { KeyObject } from 'node:crypto';
import { hostname } from 'node:os';
import { performance } from 'node:perf_hooks';
import type { LogRequest } from '#runtime/log.ts';
import { readVersion } from '#runtime/version.ts';
import type { Logger } from 'pino';
import { createGateway } from '../app.ts';
import type { Health, Service } from '../control/status/service.ts';
import { loadDocs, serveDocs } from '../faces/docs/docs.ts';
import { createPortal } from '../faces/portal/portal.ts';
import { defaultPlans, limitsIn } from '../limits/limits.ts';
import type { Config } from '../platform/config/config.ts';
import { listen, publicEndpoint } from '../platform/config/endpoints.ts';
import type { InstanceConfig } from '../platform/config/instance-config.ts';
import { createHttpServer } from '../platform/http/http-server.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import type { Tracing } from '../platform/observability/tracing.ts';
import type { GatewayIdentity, ProcessStatus } from '../platform/redis/process-statuses.ts';
import { createRecentMeasures } from '../quota/recent-measures.ts';
import { defaultPortalColor } from '../upstream/services-file-schema.ts';
import { createServiceUpstreams } from '../upstream/transport.ts';
import { createRedisState } from './redis-state.ts';

/** Maximum time that the start waits for Redis before it goes on without. */
const redisTimeoutMs = 2000;
/** Many records of keys can be invalid. The first ones say enough. */
const maxInvalidSettings = 20;
/** In a shorter time, a single task would look like a busy process. */
const minimumBusyMs = 200;

const version = readVersion();
const startedAt = new Date(performance.timeOrigin).toISOString();

export interface InstanceDependencies {
  config: InstanceConfig;
  privateKey: KeyObject;
  gateway: GatewayIdentity;
  /** Number of this worker; null in a gateway of one process. */
  worker: number | null;
  log: Logger;
  logRequest: LogRequest;
  metrics: Metrics;
  /** Undefined if no traces are exported. It is closed with the instance. */
  tracing: Tracing | undefined;
}

/** Loads OpenTelemetry only if traces are exported. @returns undefined if they are not */
export async function startTracing(settings: Config['tracing'], log: Logger) {
  if (settings === undefined) return undefined;
  const { createTracing } = await import('../platform/observability/tracing.ts');
  return createTracing(settings, log);
}

/** A process that serves requests: connections to Redis and the services, the journey, the HTTP server. */
export function createInstance(dependencies: InstanceDependencies): Service {
  const { config, privateKey, gateway, worker, log, logRequest, metrics, tracing } = dependencies;
  const { services, limits, redisUrl: url, redisIsPrivate: isPrivate } = config;
  const readBusy = createBusyReading();
  const readRecent = createRecentMeasures(metrics);
  const state = createRedisState({ url, isPrivate, log, metrics, readStatus });
  const upstreams = createServiceUpstreams({
    services,
    privateKey,
    log,
    onState: (service, upstream, upstreamState) =>
      metrics.upstreamUp.set({ service, upstream }, upstreamState === 'ready' ? 1 : 0),
    now: Date.now,
  });
  const gatewayApp = createGateway({
    ...config,
    ...state,
    upstreams,
    log,
    logRequest,
    metrics,
    spans: tracing?.spans,
    // What the public port serves beside the API: the documentation, and the customers' page.
    neighbours({ api, ...parts }) {
      const { title = api.document.title, color = defaultPortalColor } = config.api.portal ?? {};
      const look = { title, color, supportUrl: config.supportUrl };
      return [
        serveDocs(loadDocs(api, config.publicUrl, config.api), api, parts.publicAddress),
        createPortal({ ...config, ...parts, scopes: api.access.scopes, look }),
      ];
    },
  });
  const { server, drain } = createHttpServer({
    ...gatewayApp,
    limits,
    metrics,
    log,
  });

  function health(): Health {
    const states = upstreams.map(({ name, upstreams: { targets } }): [string, Health['upstreams']] => [
      name,
      Object.fromEntries(targets.map(({ origin, state }) => [origin, state])),
    ]);
    const redisUnavailableSince = state.localMode.unavailableSince();
    return {
      status: drain.isDraining() ? 'draining' : server.listening ? 'ok' : 'starting',
      redis: state.gate.open ? 'ok' : 'unavailable',
      ...(redisUnavailableSince === undefined ? {} : { redisUnavailableSince }),
      upstreams: Object.assign({}, ...states.map(([, ofService]) => ofService)),
      services: Object.fromEntries(states),
      unreportedRequests: state.usageReports.pending(),
    };
  }

  /** What this process says of itself for consoles. It takes what is counted anyway, so that a request costs nothing more. */
  async function readStatus(): Promise<ProcessStatus> {
    const { status, services: states } = health();
    const [recent, connections] = await Promise.all([readRecent(), metrics.connections.get()]);
    return {
      id: state.announcement.id,
      gateway,
      worker,
      pid: process.pid,
      version,
      startedAt,
      state: status,
      services: states,
      access: gatewayApp.access(),
      invalidSettings: state.invalidValues.list().slice(0, maxInvalidSettings),
      redisEmptied: state.setUpMarker.isMissing(),
      localMode: state.localMode.last(),
      recent,
      connections: connections.values[0]?.value ?? 0,
      busy: readBusy(),
      rssBytes: process.memoryUsage.rss(),
    };
  }

  /** A cost above a limit is a 403 for each request of a key on that plan. Limits may be raised later, so it is no error. */
  function warnOfCosts(): void {
    if ((worker ?? 1) !== 1) return;
    for (const plan of Object.keys(defaultPlans)) {
      const smallest = Math.min(...Object.values(limitsIn(state.plans.limitsOf({ plan }) ?? {})));
      for (const { operation, units } of gatewayApp.access().costs)
        if (units > smallest)
          log.warn({ plan, operation, units }, 'an operation costs more than a limit of the plan');
    }
  }

  return {
    async listen() {
      if (!(await state.waitUntilOpen(redisTimeoutMs)))
        log.error('Redis is unavailable; every request gets 503 until it is back');
      warnOfCosts();
      const port = await listen(server, publicEndpoint(config));
      metrics.workers.set(1);
      return port;
    },
    health,
    metrics: () => metrics.registry.metrics(),
    drain: drain.drain,
    async close() {
      await Promise.all(upstreams.map((service) => service.upstreams.close()));
      gatewayApp.close();
      await Promise.all([state.close(), tracing?.close()]);
    },
  };
}

/** @param workers processes that are to serve requests */
export function createGatewayIdentity(workers: number): GatewayIdentity {
  return {
    id: crypto.randomUUID(),
    host: hostname(),
    startedAt,
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
