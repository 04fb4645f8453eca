import type { KeyObject } from 'node:crypto';
import { createDrain } from '#runtime/drain.ts';
import { listen } from '#runtime/listen.ts';
import type { Tracing } from '#runtime/tracing.ts';
import type { Logger } from 'pino';
import { createGateway } from './app.ts';
import { publicEndpoint, type InstanceConfig } from './config/instance-config.ts';
import { createConnectionReport } from './http/connection-report.ts';
import { createHttpServer } from './http/http-server.ts';
import type { CreateCounter } from './http/in-use-counters.ts';
import type { Metrics } from './observability/metrics.ts';
import type { GatewayIdentity, ReloadState } from './observability/process-status.ts';
import type { LogRequest } from './observability/request-log.ts';
import { createRequestSpans } from './observability/request-spans.ts';
import { defaultPlans } from './plans/plan-settings.ts';
import { createProcessStatus } from './process-status.ts';
import { createRedisState } from './redis-state.ts';
import { assertLayout } from './redis/assert-layout.ts';
import { changeCredentials } from './redis/redis-client.ts';
import type { Health, Reload, Service } from './service.ts';
import { createServiceUpstreams } from './upstream/service-upstream.ts';

/** Maximum time that the start waits for Redis before it goes on without. */
const redisTimeoutMs = 2000;

const now = () => Date.now();

interface InstanceDependencies {
  config: InstanceConfig;
  privateKey: KeyObject;
  gateway: GatewayIdentity;
  /** Number of this worker; null in a gateway of one process. */
  worker: number | null;
  reloadState: ReloadState;
  /** Called with a request of `ops services reload`, again and again while it is in Redis. */
  onReloadRequest: (request: string) => void;
  /** Creates the counters that limits of the whole gateway need. */
  createCounter: CreateCounter;
  log: Logger;
  logRequest: LogRequest;
  metrics: Metrics;
  /** Undefined if no traces are exported. It is closed with the instance. */
  tracing: Tracing | undefined;
}

/** A process that serves requests: connections to Redis and the services, the journey, the HTTP server. */
export function createInstance(dependencies: InstanceDependencies): Service {
  const { config, privateKey, gateway, worker, onReloadRequest, createCounter, log, logRequest } =
    dependencies;
  const { metrics, tracing } = dependencies;
  const { services, api, limits, maxOwnConnections, trustProxy, publicUrl, supportUrl } = config;
  const { redisUrl: url, redisIsPrivate: isPrivate, dataDirectory } = config;
  let { reloadState } = dependencies;
  const readStatus = createProcessStatus({
    gateway,
    worker,
    metrics,
    health,
    access: () => gatewayApp.access(),
    reloadState: () => reloadState,
    state: () => state,
  });
  const state = createRedisState({
    url,
    isPrivate,
    dataDirectory,
    log,
    metrics,
    readStatus,
    onReloadRequest,
    now,
  });
  const upstreams = createServiceUpstreams({
    services,
    privateKey,
    log,
    onState: (service, upstream, upstreamState) => {
      const labels = { service, upstream };
      if (upstreamState === undefined) metrics.upstreamUp.remove(labels);
      else metrics.upstreamUp.set(labels, upstreamState === 'ready' ? 1 : 0);
    },
    now,
  });
  const gatewayApp = createGateway({
    ...state,
    services,
    api,
    upstreams: upstreams.current(),
    redisUrl: url,
    redisIsPrivate: isPrivate,
    trustProxy,
    publicUrl,
    supportUrl,
    corsOrigins: config.corsOrigins,
    createCounter,
    log,
    logRequest,
    metrics,
    spans: tracing === undefined ? undefined : createRequestSpans(tracing),
  });
  const server = createHttpServer({
    ...gatewayApp,
    limits,
    maxOwnConnections,
    createCounter,
    onRawResponse: gatewayApp.recordRawResponse,
    onOpenConnections: (count) => metrics.connections.set(count),
    ...createConnectionReport({ log, metrics, limits }),
  });
  const drain = createDrain(server);

  function status(): Health['status'] {
    if (drain.draining) return 'draining';
    return server.listening ? 'ok' : 'starting';
  }

  function health(): Health {
    const states = upstreams
      .current()
      .map(({ name, upstreams: { targets } }): [string, Health['upstreams']] => [
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
      const limits = Object.values(state.plans.limitsOf({ plan }) ?? {});
      for (const { operation, units } of gatewayApp
        .access()
        .costs.filter((each) => each.units > Math.min(...limits)))
        log.warn({ plan, operation, units }, 'an operation costs more than a limit of the plan');
    }
  }

  /** In place, and not by a new process: that would lose what is known of keys, connections and the health of instances. */
  function reload({ files, state: nextState }: Reload): void {
    if (files !== undefined) {
      const described = gatewayApp.describe(files.services, files.api);
      // Nothing from here on fails.
      const closeUnused = upstreams.replace(files.services, files.privateKey);
      gatewayApp.serve(described, upstreams.current());
      warnOfCosts();
      void drain.settled().then(closeUnused);
      changeCredentials(state.redis, files.redisUrl);
      gatewayApp.useCredentials(files.redisUrl);
    }
    reloadState = nextState;
  }

  return {
    async listen() {
      if (await state.waitUntilOpen(redisTimeoutMs)) await assertLayout(state.redis);
      else log.error('Redis is unavailable; every request gets 503 until it is back');
      warnOfCosts();
      const port = await listen(server, publicEndpoint(config));
      metrics.workers.set(1);
      return port;
    },
    health,
    statuses: async () => [await readStatus()],
    metrics: () => metrics.registry.metrics(),
    reload,
    drain: (shutdown) => drain.drain(shutdown),
    async close(cause = 'shutdown') {
      await upstreams.close();
      gatewayApp.close();
      await Promise.all([state.close(cause), tracing?.close()]);
    },
  };
}
