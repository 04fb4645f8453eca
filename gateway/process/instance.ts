import type { KeyObject } from 'node:crypto';
import { createDrain } from '#runtime/lifecycle.ts';
import { listen } from '#runtime/listen.ts';
import type { LogRequest } from '#runtime/log.ts';
import type { Logger } from 'pino';
import { createGateway, type NeighbourParts } from '../app.ts';
import type { Health, Service } from '../control/status/service.ts';
import { loadDocs, serveDocs } from '../faces/docs/docs.ts';
import { createPortal } from '../faces/portal/portal.ts';
import { defaultPlans } from '../limits/limits.ts';
import { publicEndpoint } from '../platform/config/endpoints.ts';
import type { TracingSettings } from '../platform/config/env-schemas.ts';
import type { InstanceConfig } from '../platform/config/instance-config.ts';
import { createConnectionReport } from '../platform/http/connection-limits.ts';
import { createHttpServer } from '../platform/http/http-server.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import type { Tracing } from '../platform/observability/tracing.ts';
import type { GatewayIdentity } from '../platform/redis/process-statuses.ts';
import type { Neighbour } from '../request/begin.ts';
import { defaultPortalColor } from '../upstream/services-file-schema.ts';
import { closeServiceUpstreams, createServiceUpstreams } from '../upstream/transport.ts';
import { createProcessStatus } from './process-status.ts';
import { createRedisState } from './redis-state.ts';

/** Maximum time that the start waits for Redis before it goes on without. */
const redisTimeoutMs = 2000;

const { now } = Date;

interface InstanceDependencies {
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
export async function startTracing(settings: TracingSettings | undefined, log: Logger) {
  if (settings === undefined) return undefined;
  const { createTracing } = await import('../platform/observability/tracing.ts');
  return createTracing(settings, log);
}

/** A process that serves requests: connections to Redis and the services, the journey, the HTTP server. */
export function createInstance(dependencies: InstanceDependencies): Service {
  const { config, privateKey, gateway, worker, log, logRequest, metrics, tracing } = dependencies;
  const { services, limits, redisUrl: url, redisIsPrivate: isPrivate } = config;
  const readStatus = createProcessStatus({
    gateway,
    worker,
    metrics,
    health,
    access: () => gatewayApp.access(),
    state: () => state,
  });
  const state = createRedisState({ url, isPrivate, log, metrics, readStatus, now });
  const upstreams = createServiceUpstreams({
    services,
    privateKey,
    log,
    onState: (service, upstream, upstreamState) =>
      metrics.upstreamUp.set({ service, upstream }, upstreamState === 'ready' ? 1 : 0),
    now,
  });
  const gatewayApp = createGateway({
    ...config,
    ...state,
    upstreams,
    log,
    logRequest,
    metrics,
    spans: tracing?.spans,
    neighbours: createNeighbours(config),
  });
  const server = createHttpServer({
    ...gatewayApp,
    limits,
    onRawResponse: gatewayApp.recordRawResponse,
    onOpenConnections: (count) => metrics.connections.set(count),
    ...createConnectionReport({ log, metrics, limits }),
  });
  const drain = createDrain(server, gatewayApp.closeWebSockets);

  function status(): Health['status'] {
    if (drain.draining) return 'draining';
    return server.listening ? 'ok' : 'starting';
  }

  function health(): Health {
    const states = upstreams.map(({ name, upstreams: { targets } }): [string, Health['upstreams']] => [
      name,
      Object.fromEntries(targets.map(({ origin, state }) => [origin, state])),
    ]);
    const redisUnavailableSince = state.localMode.unavailableSince();
    return {
      status: status(),
      redis: state.gate.open ? 'ok' : 'unavailable',
      ...(redisUnavailableSince === undefined ? {} : { redisUnavailableSince }),
      upstreams: Object.assign({}, ...states.map(([, ofService]) => ofService)),
      services: Object.fromEntries(states),
      unreportedRequests: state.usageReports.pending(),
    };
  }

  /** A cost above a limit is a 403 for each request of a key on that plan. Limits may be raised later, so it is no error. */
  function warnOfCosts(): void {
    if ((worker ?? 1) !== 1) return;
    for (const plan of Object.keys(defaultPlans)) {
      const limits = Object.values(state.plans.limitsOf({ plan }) ?? {}).filter(
        (limit) => limit !== undefined,
      );
      for (const { operation, units } of gatewayApp
        .access()
        .costs.filter((each) => each.units > Math.min(...limits)))
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
    statuses: async () => [await readStatus()],
    metrics: () => metrics.registry.metrics(),
    drain: (shutdown) => drain.drain(shutdown),
    async close(cause = 'shutdown') {
      await closeServiceUpstreams(upstreams);
      gatewayApp.close();
      await Promise.all([state.close(cause), tracing?.close()]);
    },
  };
}

/** Creates what the public port serves beside the API: the documentation, and the customers' page. */
function createNeighbours(config: InstanceConfig): (parts: NeighbourParts) => Neighbour[] {
  const { publicUrl, supportUrl } = config;
  return ({ api, ...parts }) => {
    const { title = api.document.title, color = defaultPortalColor } = config.api.portal ?? {};
    const look = { title, color, supportUrl };
    return [
      serveDocs(loadDocs(api, publicUrl, config.api), api),
      createPortal({ ...config, ...parts, scopes: api.access.scopes, look }),
    ];
  };
}
