import {
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  Registry,
  type Aggregator,
} from '@prometheus-io/client';
import { readVersion } from '#runtime/version.ts';
import { createRequestMetrics } from './request-metrics.ts';

/** Upper bounds of the buckets that durations of requests are counted in, in seconds. A further one has no bound. */
export const durationBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

const redisBounds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25];

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * Creates the metrics of one instance for the admin port, which grafana-dashboard.json shows. Each worker has its own; the
 * gateway shows their sum, or what `aggregator` says. Labels are bounded: patterns of routes and never paths, plans and never
 * keys. Operators make few plans.
 */
export function createMetrics() {
  const registry = new Registry();
  collectProcessMetrics(registry);
  for (const metric of registry.getMetricsAsArray()) {
    // An average would hide one slow process.
    if (metric.aggregator === 'average') metric.aggregator = 'max';
    // The start time of the first process; the library would omit it.
    if (metric.aggregator === 'omit') metric.aggregator = 'min';
  }
  const registers = [registry];
  const byWindow: ('plan' | 'window')[] = ['plan', 'window'];

  function counter<Label extends string = never>(
    name: string,
    help: string,
    labelNames: Label[] = [],
    more: { aggregator?: Aggregator; collect?: () => void } = {},
  ) {
    const common = { name: `gateway_${name}_total`, help, labelNames, registers };
    return new Counter({ ...common, aggregator: 'sum', ...more });
  }
  function gauge<Label extends string = never>(
    name: string,
    help: string,
    labelNames: Label[] = [],
    aggregator: Aggregator = 'max',
  ) {
    return new Gauge({ name: `gateway_${name}`, help, labelNames, aggregator, registers });
  }
  function histogram<Label extends string = never>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: Label[] = [],
  ) {
    return new Histogram({ name: `gateway_${name}_duration_seconds`, help, labelNames, buckets, registers });
  }

  return {
    registry,
    requests: createRequestMetrics(
      (collect) =>
        counter(
          'requests',
          'Requests by status class; aborted by the client, or cut off by the gateway',
          ['route', 'method', 'status', 'plan'],
          { collect },
        ),
      histogram(
        'request',
        'Duration of a request that was served (2xx, 3xx), to the end of its response',
        durationBounds,
        ['route', 'method'],
      ),
    ),
    redisSeconds: histogram('redis', 'Duration of Redis commands that requests wait for', redisBounds),
    upstreamSeconds: histogram(
      'upstream',
      'Time from sending a request to a service to the end of its response',
      durationBounds,
      ['service'],
    ),
    upstreamUp: gauge(
      'upstream_up',
      '1 while this instance of the service is ready for requests',
      ['service', 'upstream'],
      'min',
    ),
    errors: counter('errors', "The gateway's own error responses, by error code", ['code']),
    connections: gauge('connections', 'Open client connections', [], 'sum'),
    workers: gauge('workers', 'Processes that serve requests', [], 'sum'),
    workerRestarts: counter('worker_restarts', 'Workers that exited unexpectedly, or hung and were killed'),
    refusedConnections: counter(
      'refused_connections',
      'Connections refused because of the limit of all connections or of an address',
      ['limit'],
    ),
    quotaRefusals: counter('quota_refusals', 'Requests refused because a window was used up', byWindow),
    shadowRefusals: counter(
      'shadow_refusals',
      'Requests served above a shadow limit of their plan; more than it would refuse if costs differ',
      byWindow,
    ),
    nearLimit: counter(
      'near_limit',
      'Requests served with a tenth of the window or less remaining',
      byWindow,
    ),
    planLimit: gauge(
      'plan_limit',
      'Requests that a plan allows in a window; the plan anonymous is the limit of an address',
      byWindow,
    ),
    bans: counter('bans', 'Bans of keys that kept sending requests after 429', ['plan']),
    bannedRequests: counter('banned_requests', 'Requests refused during a ban', ['plan']),
    unauthenticatedRequests: counter(
      'unauthenticated_requests',
      'Requests refused for want of a valid key; those over the limit of their address are quota refusals',
      ['plan'],
    ),
    localMode: gauge('local_mode', '1 while Redis is unavailable and this instance decides alone'),
    localModeSeconds: counter(
      'local_mode_seconds',
      'Seconds in which Redis was unavailable and this instance decided alone',
      [],
      { aggregator: 'max' },
    ),
    redisMemoryUsed: gauge(
      'redis_memory_used_bytes',
      'Memory in use of the fullest Redis server that accepts writes; 0 while unknown',
    ),
    redisMemoryLimit: gauge(
      'redis_memory_limit_bytes',
      'Memory that this Redis server may use (maxmemory, or else the memory of its machine); 0 while unknown',
    ),
    invalidSettings: gauge(
      'bad_settings',
      'Invalid fields in a Redis value that operators set; the last valid value stays in force',
      ['key'],
    ),
    redisEmptied: gauge(
      'redis_emptied',
      '1 while Redis lacks the mark that it was set up: it came back empty, and keys that it lacks get 503',
    ),
    deliveries: counter(
      'webhook_deliveries',
      'Attempts to deliver an event to a webhook: delivered, failed (to be tried again) or dead (given up)',
      ['outcome'],
    ),
    disabledWebhooks: gauge(
      'webhooks_disabled',
      'Webhooks that get nothing because they have failed for 24 hours, or are gone',
    ),
  };
}

/**
 * Metrics of the library whose names `promtool check metrics` refuses. The first three are the sums of the metrics of the
 * same name without `_total`.
 */
const misnamed = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
  'nodejs_eventloop_utilization_histogram',
  'nodejs_eventloop_utilization_summary',
];

/**
 * Time between two samples of the event loop, in milliseconds. The metrics nodejs_eventloop_lag_min to _p99 include it:
 * an idle process shows 0.01 s.
 */
const eventLoopSamplingMs = 10;

/** Registers the metrics that every Node process has, and which build runs. */
function collectProcessMetrics(registry: Registry): void {
  // Among them nodejs_eventloop_lag_*, the time that requests wait for a busy process.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: eventLoopSamplingMs });
  for (const name of misnamed) registry.removeSingleMetric(name);
  new Gauge({
    name: 'gateway_build_info',
    help: 'Always 1; the labels say which version runs, on which version of Node',
    labelNames: ['version', 'node_version'],
    aggregator: 'max',
    registers: [registry],
  }).set({ version: readVersion(), node_version: process.version }, 1);
}
