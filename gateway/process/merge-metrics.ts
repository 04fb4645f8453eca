import { Registry } from '@prometheus-io/client';

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
