import { collectDefaultMetrics, Gauge, type Registry } from '@prometheus-io/client';
import { readVersion } from './version.ts';

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
export const eventLoopSamplingMs = 10;

/** Registers the metrics that every Node process has, and which build runs. */
export function collectProcessMetrics(registry: Registry): void {
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
