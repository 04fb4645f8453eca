import { Registry } from '@prometheus-io/client';
import type { Health } from '../control/status/service.ts';
import type { InstanceConfig } from '../platform/config/instance-config.ts';
import type { GatewayIdentity } from '../platform/redis/process-statuses.ts';
import type { TargetState } from '../upstream/upstreams.ts';

/** Messages of the primary to a worker. */
export type ToWorker =
  /** The first message. It replaces settings and files, so that all workers have the same ones. */
  | { type: 'start'; config: InstanceConfig; gateway: GatewayIdentity; privateKeyPem: string }
  /** Finish what is in flight, then exit. Only `force_close` follows. */
  | { type: 'drain'; delayMs: number }
  /** Stop waiting for what is in flight. */
  | { type: 'force_close' }
  | { type: 'send_metrics' };

/** Messages of a worker to the primary. */
export type FromWorker =
  | { type: 'listening'; port: number }
  /** Why the worker can't start. It exits after that. */
  | { type: 'failed'; reason: string }
  /** Sent every second: a worker without it hangs. */
  | { type: 'alive'; health: Health }
  | { type: 'metrics'; metrics: MetricsSnapshot };

/** Best first. */
const states: readonly TargetState[] = ['ready', 'unknown', 'not_ready', 'down'];

/** The worst state that any worker reports; unavailable if there is no worker. */
export function mergeHealth(healths: readonly Health[]): Omit<Health, 'status' | 'workers'> {
  const names = new Set(healths.flatMap((health) => Object.keys(health.services)));
  const [since] = healths.flatMap(({ redisUnavailableSince }) => redisUnavailableSince ?? []).toSorted();
  return {
    ...(since === undefined ? {} : { redisUnavailableSince: since }),
    redis: healths.length > 0 && healths.every(({ redis }) => redis === 'ok') ? 'ok' : 'unavailable',
    upstreams: worstStates(healths.map(({ upstreams }) => upstreams)),
    services: Object.fromEntries(
      Array.from(names, (name) => [name, worstStates(healths.map(({ services }) => services[name] ?? {}))]),
    ),
    unreportedRequests: healths.reduce((sum, { unreportedRequests }) => sum + unreportedRequests, 0),
  };
}

function worstStates(seen: readonly Record<string, TargetState>[]): Record<string, TargetState> {
  const worst: Record<string, TargetState> = {};
  for (const [origin, state] of seen.flatMap((each) => Object.entries(each))) {
    if (states.indexOf(state) >= states.indexOf(worst[origin] ?? 'ready')) worst[origin] = state;
  }
  return worst;
}

/** Metrics of one process, as the library's getMetricsAsJSON returns them. */
export type MetricsSnapshot = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** Merges metrics of several processes: their sum, or what the metric's `aggregator` says (metrics.ts). */
function merge(snapshots: readonly MetricsSnapshot[]): Registry {
  const measured = snapshots.map((snapshot) =>
    snapshot.map((metric) =>
      Object.assign({}, metric, {
        // A gauge without a value is NaN, and null after it was sent. Other processes may have a value.
        values: metric.values.filter(({ value }) => Number.isFinite(value)),
      }),
    ),
  );
  return Registry.aggregate(measured);
}

/** Renders merged metrics in Prometheus' text format. */
export function renderMetrics(snapshots: readonly MetricsSnapshot[]): Promise<string> {
  return merge(snapshots).metrics();
}

/** Adds the counters and histograms of a process that has ended. Its gauges are dropped, since it uses nothing now. */
export function addCounts(past: MetricsSnapshot, snapshot: MetricsSnapshot): MetricsSnapshot {
  const counts = snapshot.filter(({ type }) => type !== 'gauge');
  return merge([past, counts])
    .getMetricsAsArray()
    .map((metric) => Object.assign({ values: [] }, metric));
}
