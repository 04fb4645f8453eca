import type { RecentMeasures } from '../traffic/recent-measures.ts';
import type { FleetGateway } from './fleet-status.ts';

/** What all live processes have measured in the last minute: the worst p99 of any, and the sum of the errors. */
export function combineMeasures(gateways: readonly Pick<FleetGateway, 'processes'>[]): RecentMeasures {
  const measured = gateways
    .flatMap(({ processes }) => processes)
    .flatMap(({ state, recent }) => (state === 'not_seen' ? [] : [recent]));
  const errors = new Map<string, number>();
  for (const [code, count] of measured.flatMap((recent) => Object.entries(recent.errors))) {
    errors.set(code, (errors.get(code) ?? 0) + count);
  }
  return {
    redisP99Ms: largest(measured.map(({ redisP99Ms }) => redisP99Ms)),
    upstreamP99Ms: largest(measured.map(({ upstreamP99Ms }) => upstreamP99Ms)),
    errors: Object.fromEntries(Array.from(errors).toSorted(([, one], [, other]) => other - one)),
  };
}

function largest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}
