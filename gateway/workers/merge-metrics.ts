import { AggregatorRegistry, type Registry } from 'prom-client';

/** Metrics of one process, as prom-client's getMetricsAsJSON gives them. */
export type MetricsSnapshot = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** Each metric of several processes as one: their sum, or what its `aggregator` says (metrics.ts). */
function merge(snapshots: readonly MetricsSnapshot[]): Registry {
  const measured = snapshots.map((snapshot) =>
    snapshot.map((metric) =>
      Object.assign({}, metric, {
        // A gauge that has nothing to tell is NaN, and null once it has been sent: others may know more.
        values: metric.values.filter(({ value }) => Number.isFinite(value)),
      }),
    ),
  );
  return AggregatorRegistry.aggregate(measured);
}

/** In Prometheus' format. */
export function renderMetrics(snapshots: readonly MetricsSnapshot[]): Promise<string> {
  return merge(snapshots).metrics();
}

/** Adds what a process counted that has ended; not its gauges, since it has no more of anything. */
export function addCounts(past: MetricsSnapshot, snapshot: MetricsSnapshot): MetricsSnapshot {
  // The library's own type says that types are numbers.
  const counts = snapshot.filter(({ type }) => String(type) !== 'gauge');
  return merge([past, counts])
    .getMetricsAsArray()
    .map((metric) => Object.assign({ values: [] }, metric));
}
