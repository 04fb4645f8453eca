import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { QuickHistogram, type Observations } from './prelabelled-histogram.ts';
import { createRequestCounts, type RequestCounts } from './request-metrics.ts';

/**
 * What one instance counts. Labels are bounded: patterns of routes, never paths; plans, never keys. Plans are
 * operators' own and few.
 */
export interface Metrics {
  registry: Registry;
  /** Answered requests and how long they took. */
  requests: RequestCounts;
  /** From sending a command or script that a request waits for to its answer, or to giving it up. */
  redisSeconds: Histogram;
  /** From the pets service having a request to the end of its answer. */
  upstreamSeconds: Observations;
  /** 1 while an instance of the pets service is ready; 0 while it is away, drains or starts. Instances are few. */
  upstreamUp: Gauge<'upstream'>;
  /** Error answers by their code, those of the gateway itself. */
  errors: Counter<'code'>;
  /** Connections of clients that are open. */
  connections: Gauge;
  /** Processes that serve requests. */
  workers: Gauge;
  /** Workers that ended before the gateway did. */
  workerRestarts: Counter;
  /** Connections beyond a limit: that of all together, or that of an address. */
  refusedConnections: Counter<'limit'>;
  /** Requests refused because a window was used up. */
  quotaRefusals: Counter<'plan' | 'window'>;
  /** Requests served with a tenth of the window or less remaining. */
  nearLimit: Counter<'plan' | 'window'>;
  /** Bans that a request on this instance led to. */
  bans: Counter<'plan'>;
  /** Requests refused during a ban. */
  bannedRequests: Counter<'plan'>;
  /** 1 while Redis does not answer and decisions are local. */
  localMode: Gauge;
  localDecisions: Counter<'plan'>;
  /** Faults found in a Redis value that operators set, by Redis key; one label for all records of API keys. */
  badSettings: Gauge<'key'>;
  /** Log lines given up since their reader did not keep up. */
  droppedLogLines: Counter;
}

interface MetricSources {
  droppedLogLines: () => number;
}

const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const redisBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25];

/**
 * Metrics in Prometheus' format, for the admin port. gateway/observability/grafana-dashboard.json shows them. Of several workers each
 * has its own; what is told of them together is a sum, or what `aggregator` says.
 */
export function createMetrics(sources: MetricSources): Metrics {
  const registry = new Registry();
  // Among them nodejs_eventloop_lag_*: how long this instance leaves its requests waiting.
  collectDefaultMetrics({ register: registry });
  for (const metric of registry.getMetricsAsArray()) {
    // An average would hide the one process that keeps its requests waiting.
    if (metric.aggregator === 'average') metric.aggregator = 'max';
    // When the first process started; the library would leave it out.
    if (metric.aggregator === 'omit') metric.aggregator = 'min';
  }
  const registers = [registry];
  return {
    registry,
    requests: createRequestCounts(registry, requestBuckets),
    redisSeconds: new Histogram({
      name: 'gateway_redis_duration_seconds',
      help: 'Time that a command took that requests waited for',
      buckets: redisBuckets,
      registers,
    }),
    upstreamSeconds: new QuickHistogram({
      name: 'gateway_upstream_duration_seconds',
      help: 'Time that the pets service took once it had a request, answer included',
      buckets: requestBuckets,
      registers,
    }).observationsOf({}),
    upstreamUp: new Gauge({
      name: 'gateway_upstream_up',
      help: '1 while this instance of the pets service is ready for requests',
      labelNames: ['upstream'],
      aggregator: 'min',
      registers,
    }),
    errors: new Counter({
      name: 'gateway_errors_total',
      help: "Error answers of the gateway's own, by error code",
      labelNames: ['code'],
      registers,
    }),
    connections: new Gauge({
      name: 'gateway_connections',
      help: 'Open connections of clients',
      registers,
    }),
    workers: new Gauge({
      name: 'gateway_workers',
      help: 'Processes that serve requests',
      registers,
    }),
    workerRestarts: new Counter({
      name: 'gateway_worker_restarts_total',
      help: 'Workers that ended by themselves, or hung and were ended',
      registers,
    }),
    refusedConnections: new Counter({
      name: 'gateway_refused_connections_total',
      help: 'Connections refused because there were too many in total or from their address',
      labelNames: ['limit'],
      registers,
    }),
    quotaRefusals: new Counter({
      name: 'gateway_quota_refusals_total',
      help: 'Requests refused because a window was used up',
      labelNames: ['plan', 'window'],
      registers,
    }),
    nearLimit: new Counter({
      name: 'gateway_near_limit_total',
      help: 'Requests served with a tenth of the window or less remaining',
      labelNames: ['plan', 'window'],
      registers,
    }),
    bans: new Counter({
      name: 'gateway_bans_total',
      help: 'Keys that were banned for going on after 429',
      labelNames: ['plan'],
      registers,
    }),
    bannedRequests: new Counter({
      name: 'gateway_banned_requests_total',
      help: 'Requests refused during a ban',
      labelNames: ['plan'],
      registers,
    }),
    localMode: new Gauge({
      name: 'gateway_local_mode',
      help: '1 while Redis does not answer and quotas are counted by this instance alone',
      aggregator: 'max',
      registers,
    }),
    localDecisions: new Counter({
      name: 'gateway_local_decisions_total',
      help: 'Requests decided on without Redis',
      labelNames: ['plan'],
      registers,
    }),
    badSettings: new Gauge({
      name: 'gateway_bad_settings',
      help: 'Unusable fields in a Redis value that operators set; the last good value stays in force',
      labelNames: ['key'],
      aggregator: 'max',
      registers,
    }),
    droppedLogLines: new Counter({
      name: 'gateway_log_lines_dropped_total',
      help: 'Log lines given up because too many were waiting for their reader or for room on the disk',
      registers,
      collect() {
        this.reset();
        this.inc(sources.droppedLogLines());
      },
    }),
  };
}
