import type { KeyObject } from 'node:crypto';
import type { Logger } from 'pino';
import { Agent } from 'undici';
import type { Health } from './admin/admin-app.ts';
import { createGateway } from './app.ts';
import type { Config } from './config/config.ts';
import { createHttpServer } from './http/http-server.ts';
import type { MakeCounts } from './http/in-use-counters.ts';
import { createRefusalReport } from './http/refused-connections.ts';
import type { LogRequest } from './observability/log.ts';
import type { Metrics } from './observability/metrics.ts';
import { createRedisState } from './redis-state.ts';
import { createDrain } from './runtime/drain.ts';
import { listen, type Endpoint } from './runtime/listen.ts';
import { createReadinessProbe } from './upstream/readiness-probe.ts';
import { createUpstreams } from './upstream/upstreams.ts';

/** How long a start waits for Redis before it goes on without. */
const redisPatienceMs = 2000;
const connectTimeoutMs = 2000;
/** Shorter than the pets service keeps an idle connection, lest a request meets its closing. */
const upstreamKeepAliveMs = 30_000;

const now = () => Date.now();

/** What serves requests: this process, or the workers that it has started. */
export interface Service {
  /**
   * Begins to take connections.
   * @returns the port
   * @throws Error that says why it can't
   */
  listen(): Promise<number>;
  /** As last known. */
  health(): Health;
  /** In Prometheus' format. */
  metrics(): Promise<string>;
  /** As in http/drain.ts. */
  drain(delayMs: number, cutOff: AbortSignal): Promise<void>;
  /** Lets go of everything else. */
  close(): Promise<void>;
}

/** Settings together with what the start has found out and worked out. */
export interface InstanceConfig extends Config {
  redisUrl: string;
  /** Whether that Redis is the gateway's own, of which it is known how it keeps its data. */
  redisIsPrivate: boolean;
  /** To each instance of the pets service, from one process. */
  upstreamConnections: number;
  /** Connections of clients that one process can have, however many all together may have. */
  maxOwnConnections: number;
}

interface InstanceDependencies {
  config: InstanceConfig;
  privateKey: KeyObject;
  /** For what the limits of the whole gateway count. */
  makeCounts: MakeCounts;
  log: Logger;
  logRequest: LogRequest;
  metrics: Metrics;
}

export const publicEndpoint = ({ port, host }: Pick<Config, 'port' | 'host'>): Endpoint => ({
  portSetting: 'GATEWAY_PORT',
  hostSetting: 'GATEWAY_HOST',
  port,
  host,
});

/** A process that serves requests: its connections to Redis and to the pets service, the journey, the server. */
export function createInstance(dependencies: InstanceDependencies): Service {
  const { config, privateKey, makeCounts, log, logRequest, metrics } = dependencies;
  const { limits, maxOwnConnections, upstreamTimeoutMs, trustProxy } = config;
  const { redisUrl: url, redisIsPrivate: isPrivate } = config;
  const state = createRedisState({ url, isPrivate, log, metrics, now });
  const dispatcher = new Agent({
    connect: { timeout: connectTimeoutMs },
    // The transport has its own (answer-timers.ts).
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: upstreamKeepAliveMs,
    connections: config.upstreamConnections,
  });
  const upstreams = createUpstreams({
    urls: config.petsServiceUrls,
    probe: createReadinessProbe(),
    log,
    onState: (upstream, upstreamState) => {
      metrics.upstreamUp.set({ upstream }, upstreamState === 'ready' ? 1 : 0);
    },
  });
  const { app, messageClasses, allow, isProxy, chargeAddress, recordRawAnswer } = createGateway({
    ...state,
    dispatcher,
    upstreams,
    upstreamTimeoutMs,
    privateKey,
    trustProxy,
    makeCounts,
    log,
    logRequest,
    metrics,
    now,
  });
  const server = createHttpServer({
    app,
    messageClasses,
    allow,
    limits,
    maxOwnConnections,
    makeCounts,
    isProxy,
    chargeAddress,
    onRawAnswer: recordRawAnswer,
    onOpenConnections: (count) => metrics.connections.set(count),
    onRefusedConnection: createRefusalReport({ log, metrics, limits }),
  });
  const drain = createDrain(server);

  function status(): Health['status'] {
    if (drain.draining) return 'draining';
    return server.listening ? 'ok' : 'starting';
  }

  return {
    async listen() {
      if (!(await state.untilOpen(redisPatienceMs))) {
        log.error('Redis cannot be reached: until it can, every request gets 503');
      }
      const port = await listen(server, publicEndpoint(config));
      metrics.workers.set(1);
      return port;
    },
    health: () => ({
      status: status(),
      redis: state.gate.open ? 'ok' : 'unavailable',
      upstreams: Object.fromEntries(upstreams.targets.map(({ origin, state }) => [origin, state])),
      unreportedRequests: state.dayUsage.pending(),
    }),
    metrics: () => metrics.registry.metrics(),
    drain: (...patience) => drain.drain(...patience),
    async close() {
      await upstreams.close();
      await dispatcher.destroy();
      await state.close();
    },
  };
}
