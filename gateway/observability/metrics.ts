import { collectProcessMetrics } from '#runtime/process-metrics.ts';
import { Counter, Gauge, Registry } from 'prom-client';
import { durationBounds } from './duration-bounds.ts';
import { PrelabelledHistogram, type HistogramChild } from './prelabelled-histogram.ts';
import { createRequestMetrics, type RequestMetrics } from './request-metrics.ts';

/**
 * Metrics of one instance. Labels are bounded: patterns of routes and never paths, plans and never keys. Operators make
 * few plans.
 */
export interface Metrics {
  registry: Registry;
  /** Requests and their duration. */
  requests: RequestMetrics;
  /** Time from sending a command that requests wait for to its reply, or to the timeout. */
  redisSeconds: HistogramChild;
  /** Time from sending a request to a service to the end of its response. */
  upstreamSeconds: PrelabelledHistogram;
  /** 1 while an instance of a service is ready; 0 while it is down, drains or starts. Instances are few. */
  upstreamUp: Gauge<'service' | 'upstream'>;
  /** The gateway's own error responses, by code. */
  errors: Counter<'code'>;
  /** Open client connections. */
  connections: Gauge;
  /** Processes that serve requests. */
  workers: Gauge;
  /** Workers that exited unexpectedly. */
  workerRestarts: Counter;
  /** Connections refused because of the limit of all connections, or of an address. */
  refusedConnections: Counter<'limit'>;
  /** Idle connections closed for new ones. */
  closedIdleConnections: Counter;
  /** Requests refused because a window was used up. */
  quotaRefusals: Counter<'plan' | 'window'>;
  /** Requests served above a shadow limit. */
  shadowRefusals: Counter<'plan' | 'window'>;
  /** Requests served with a tenth of the window or less remaining. */
  nearLimit: Counter<'plan' | 'window'>;
  /** Limits in force. */
  planLimit: Gauge<'plan' | 'window'>;
  /** Bans caused by a request on this instance. */
  bans: Counter<'plan'>;
  /** Requests refused during a ban. */
  bannedRequests: Counter<'plan'>;
  /** Requests refused for want of a valid key, within the limit of their address. The plan is that of addresses. */
  unauthenticatedRequests: Counter<'plan'>;
  /** 1 while Redis is unavailable and decisions are local. */
  localMode: Gauge;
  /** Seconds of it. */
  localModeSeconds: Counter;
  localDecisions: Counter<'plan'>;
  /** Memory of the fullest Redis server that accepts writes, and its limit; both 0 while unknown. */
  redisMemoryUsed: Gauge;
  redisMemoryLimit: Gauge;
  /** Issues of a Redis value that operators set, by Redis key; one label for all records of API keys. */
  invalidSettings: Gauge<'key'>;
  /** Failed sign-ins to the console, and requests that its access control refused, by code. */
  consoleRefusals: Counter<'code'>;
  /** Whether Redis came back empty. */
  redisEmptied: Gauge;
  /** Attempts to deliver an event to a webhook. */
  deliveries: Counter<'outcome'>;
  /** Webhooks that are disabled because they failed. */
  disabledWebhooks: Gauge;
  /** Log lines that were dropped because their reader did not keep up. */
  droppedLogLines: Counter;
}

interface MetricSources {
  droppedLogLines: () => number;
}

const redisBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25];

/**
 * Creates the metrics for the admin port, which grafana-dashboard.json shows. Each worker has its own; the gateway shows
 * their sum, or what `aggregator` says.
 */
export function createMetrics(sources: MetricSources): Metrics {
  const registry = new Registry();
  collectProcessMetrics(registry, 'gateway');
  for (const metric of registry.getMetricsAsArray()) {
    // An average would hide one slow process.
    if (metric.aggregator === 'average') metric.aggregator = 'max';
    // The start time of the first process; the library would omit it.
    if (metric.aggregator === 'omit') metric.aggregator = 'min';
  }
  const registers = [registry];
  return {
    registry,
    requests: createRequestMetrics(registry, durationBounds),
    redisSeconds: new PrelabelledHistogram({
      name: 'gateway_redis_duration_seconds',
      help: 'Duration of Redis commands that requests wait for',
      buckets: redisBuckets,
      registers,
    }).child({}),
    upstreamSeconds: new PrelabelledHistogram({
      name: 'gateway_upstream_duration_seconds',
      help: 'Time from sending a request to a service to the end of its response',
      labelNames: ['service'],
      buckets: durationBounds,
      registers,
    }),
    upstreamUp: new Gauge({
      name: 'gateway_upstream_up',
      help: '1 while this instance of the service is ready for requests',
      labelNames: ['service', 'upstream'],
      aggregator: 'min',
      registers,
    }),
    errors: new Counter({
      name: 'gateway_errors_total',
      help: "The gateway's own error responses, by error code",
      labelNames: ['code'],
      registers,
    }),
    connections: new Gauge({
      name: 'gateway_connections',
      help: 'Open client connections',
      registers,
    }),
    workers: new Gauge({
      name: 'gateway_workers',
      help: 'Processes that serve requests',
      registers,
    }),
    workerRestarts: new Counter({
      name: 'gateway_worker_restarts_total',
      help: 'Workers that exited unexpectedly, or hung and were killed',
      registers,
    }),
    refusedConnections: new Counter({
      name: 'gateway_refused_connections_total',
      help: 'Connections refused because of the limit of all connections or of an address',
      labelNames: ['limit'],
      registers,
    }),
    closedIdleConnections: new Counter({
      name: 'gateway_closed_idle_connections_total',
      help: 'Idle connections closed for new ones because the limit of all connections was reached',
      registers,
    }),
    quotaRefusals: new Counter({
      name: 'gateway_quota_refusals_total',
      help: 'Requests refused because a window was used up',
      labelNames: ['plan', 'window'],
      registers,
    }),
    shadowRefusals: new Counter({
      name: 'gateway_shadow_refusals_total',
      help: 'Requests served above a shadow limit of their plan',
      labelNames: ['plan', 'window'],
      registers,
    }),
    nearLimit: new Counter({
      name: 'gateway_near_limit_total',
      help: 'Requests served with a tenth of the window or less remaining',
      labelNames: ['plan', 'window'],
      registers,
    }),
    planLimit: new Gauge({
      name: 'gateway_plan_limit',
      help: 'Requests that a plan allows in a window; the plan anonymous is the limit of an address',
      labelNames: ['plan', 'window'],
      aggregator: 'max',
      registers,
    }),
    bans: new Counter({
      name: 'gateway_bans_total',
      help: 'Bans of keys that kept sending requests after 429',
      labelNames: ['plan'],
      registers,
    }),
    bannedRequests: new Counter({
      name: 'gateway_banned_requests_total',
      help: 'Requests refused during a ban',
      labelNames: ['plan'],
      registers,
    }),
    unauthenticatedRequests: new Counter({
      name: 'gateway_unauthenticated_requests_total',
      help: 'Requests refused for want of a valid key; those over the limit of their address are quota refusals',
      labelNames: ['plan'],
      registers,
    }),
    localMode: new Gauge({
      name: 'gateway_local_mode',
      help: '1 while Redis is unavailable and this instance decides alone',
      aggregator: 'max',
      registers,
    }),
    localModeSeconds: new Counter({
      name: 'gateway_local_mode_seconds_total',
      help: 'Seconds in which Redis was unavailable and this instance decided alone',
      aggregator: 'max',
      registers,
    }),
    localDecisions: new Counter({
      name: 'gateway_local_decisions_total',
      help: 'Requests decided without Redis',
      labelNames: ['plan'],
      registers,
    }),
    redisMemoryUsed: new Gauge({
      name: 'gateway_redis_memory_used_bytes',
      help: 'Memory in use of the fullest Redis server that accepts writes; 0 while unknown',
      aggregator: 'max',
      registers,
    }),
    redisMemoryLimit: new Gauge({
      name: 'gateway_redis_memory_limit_bytes',
      help: 'Memory that this Redis server may use (maxmemory, or else the memory of its machine); 0 while unknown',
      aggregator: 'max',
      registers,
    }),
    invalidSettings: new Gauge({
      name: 'gateway_bad_settings',
      help: 'Invalid fields in a Redis value that operators set; the last valid value stays in force',
      labelNames: ['key'],
      aggregator: 'max',
      registers,
    }),
    consoleRefusals: new Counter({
      name: 'gateway_console_refusals_total',
      help: 'Failed sign-ins to the console, and requests that its access control refused, by error code',
      labelNames: ['code'],
      registers,
    }),
    redisEmptied: new Gauge({
      name: 'gateway_redis_emptied',
      help: '1 while Redis lacks the mark that it was set up: it came back empty, and keys that it lacks get 503',
      aggregator: 'max',
      registers,
    }),
    deliveries: new Counter({
      name: 'gateway_webhook_deliveries_total',
      help: 'Attempts to deliver an event to a webhook: delivered, failed (to be tried again) or dead (given up)',
      labelNames: ['outcome'],
      registers,
    }),
    disabledWebhooks: new Gauge({
      name: 'gateway_webhooks_disabled',
      help: 'Webhooks that get nothing because they have failed for 24 hours, or are gone',
      aggregator: 'max',
      registers,
    }),
    droppedLogLines: new Counter({
      name: 'gateway_log_lines_dropped_total',
      help: 'Log lines dropped because too many were waiting for their reader or for space on the disk',
      registers,
      collect() {
        this.reset();
        this.inc(sources.droppedLogLines());
      },
    }),
  };
}
