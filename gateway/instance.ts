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
import type { GatewayIdentity } from './observability/process-status.ts';
import type { LogRequest } from './observability/request-log.ts';
import { createRequestSpans } from './observability/request-spans.ts';
import { createProcessStatus } from './process-status.ts';
import { createRedisState } from './redis-state.ts';
import type { Health, Service } from './service.ts';
import { createReadinessProbe } from './upstream/readiness-probe.ts';
import { createUpstreamDispatcher } from './upstream/upstream-connections.ts';
import { createUpstreams } from './upstream/upstreams.ts';

/** Maximum time that the start waits for Redis before it goes on without. */
const redisTimeoutMs = 2000;

const now = () => Date.now();

interface InstanceDependencies {
  config: InstanceConfig;
  privateKey: KeyObject;
  gateway: GatewayIdentity;
  /** Number of this worker; null in a gateway of one process. */
  worker: number | null;
  /** Creates the counters that limits of the whole gateway need. */
  createCounter: CreateCounter;
  log: Logger;
  logRequest: LogRequest;
  metrics: Metrics;
  /** Undefined if no traces are exported. It is closed with the instance. */
  tracing: Tracing | undefined;
}

/** A process that serves requests: connections to Redis and the pets service, the journey, the HTTP server. */
export function createInstance(dependencies: InstanceDependencies): Service {
  const { config, privateKey, gateway, worker, createCounter, log, logRequest, metrics, tracing } =
    dependencies;
  const { limits, maxOwnConnections, upstreamTimeoutMs, trustProxy, publicUrl, supportUrl } = config;
  const { redisUrl: url, redisIsPrivate: isPrivate, dataDirectory } = config;
  const readStatus = createProcessStatus({ gateway, worker, metrics, health, state: () => state });
  const state = createRedisState({ url, isPrivate, dataDirectory, log, metrics, readStatus, now });
  const dispatcher = createUpstreamDispatcher(config.upstreamConnections);
  const upstreams = createUpstreams({
    urls: config.petsServiceUrls,
    probe: createReadinessProbe(),
    log,
    onState: (upstream, upstreamState) => {
      metrics.upstreamUp.set({ upstream }, upstreamState === 'ready' ? 1 : 0);
    },
  });
  const { app, messageClasses, allow, isProxy, chargeAddress, recordRawResponse } = createGateway({
    ...state,
    dispatcher,
    upstreams,
    upstreamTimeoutMs,
    privateKey,
    trustProxy,
    publicUrl,
    supportUrl,
    createCounter,
    log,
    logRequest,
    metrics,
    spans: tracing === undefined ? undefined : createRequestSpans(tracing),
    now,
  });
  const server = createHttpServer({
    app,
    messageClasses,
    allow,
    limits,
    maxOwnConnections,
    createCounter,
    isProxy,
    chargeAddress,
    onRawResponse: recordRawResponse,
    onOpenConnections: (count) => metrics.connections.set(count),
    ...createConnectionReport({ log, metrics, limits }),
  });
  const drain = createDrain(server);

  function status(): Health['status'] {
    if (drain.draining) return 'draining';
    return server.listening ? 'ok' : 'starting';
  }

  function health(): Health {
    const redisUnavailableSince = state.localMode.unavailableSince();
    return {
      status: status(),
      redis: state.gate.open ? 'ok' : 'unavailable',
      ...(redisUnavailableSince === undefined ? {} : { redisUnavailableSince }),
      upstreams: Object.fromEntries(upstreams.targets.map(({ origin, state }) => [origin, state])),
      unreportedRequests: state.usageReports.pending(),
    };
  }

  return {
    async listen() {
      if (!(await state.waitUntilOpen(redisTimeoutMs))) {
        log.error('Redis is unavailable; every request gets 503 until it is back');
      }
      const port = await listen(server, publicEndpoint(config));
      metrics.workers.set(1);
      return port;
    },
    health,
    statuses: async () => [await readStatus()],
    metrics: () => metrics.registry.metrics(),
    drain: (shutdown) => drain.drain(shutdown),
    async close() {
      await upstreams.close();
      await dispatcher.destroy();
      await Promise.all([state.close(), tracing?.close()]);
    },
  };
}
