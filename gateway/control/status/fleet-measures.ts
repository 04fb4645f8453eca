import { z } from 'zod';
import { recentMeasures } from '../../platform/redis/process-statuses.ts';
import { anonymousPlan } from '../../quota/plan-settings.ts';
import { latencyOf } from '../../quota/recent-measures.ts';
import { parseBound } from '../../quota/traffic.ts';
import { trafficPointSchema } from '../usage/traffic.ts';
import type { FleetGateway } from './fleet-status.ts';

const count = z.int();

/** What all live processes have counted and measured in the last minute. */
export const measuresSchema = z
  .object({
    requests: count,
    byStatus: trafficPointSchema.shape.byStatus,
    refused: count.describe('Requests with a valid key that were refused: over a limit, or during a ban'),
    withoutKey: count.describe('Refused requests without a valid key'),
    bans: count.describe('New bans'),
    latencyMs: trafficPointSchema.shape.latencyMs,
    ...recentMeasures.pick({ redisP99Ms: true, upstreamP99Ms: true, errors: true }).shape,
  })
  .meta({ id: 'Measures', description: 'All gateways in the last minute' });

export type FleetMeasures = z.infer<typeof measuresSchema>;

/** Adds up what the processes have counted; the p99 of Redis and of services is the worst one of any process. */
export function combineMeasures(gateways: readonly Pick<FleetGateway, 'processes'>[]): FleetMeasures {
  const measured = gateways
    .flatMap(({ processes }) => processes)
    .flatMap(({ state, recent }) => (state === 'not_seen' ? [] : [recent]));
  const byStatus = addUp(measured.map((recent) => recent.byStatus));
  const refused = addUp(measured.map((recent) => recent.refused));
  const ofAddresses = refused[anonymousPlan] ?? 0;
  const durations = Object.entries(addUp(measured.map((recent) => recent.durations)));
  const errors = Object.entries(addUp(measured.map((recent) => recent.errors)));
  return {
    requests: sum(Object.values(byStatus)),
    byStatus,
    refused: sum(Object.values(refused)) - ofAddresses,
    withoutKey: sum(measured.map(({ unauthenticated }) => unauthenticated)) + ofAddresses,
    bans: sum(measured.map(({ bans }) => bans)),
    latencyMs: latencyOf(new Map(durations.map(([bound, count]) => [parseBound(bound), count]))),
    redisP99Ms: largest(measured.map(({ redisP99Ms }) => redisP99Ms)),
    upstreamP99Ms: largest(measured.map(({ upstreamP99Ms }) => upstreamP99Ms)),
    errors: Object.fromEntries(errors.toSorted(([, one], [, other]) => other - one)),
  };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

function addUp(counts: readonly Record<string, number>[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [name, count] of counts.flatMap(Object.entries<number>)) sums[name] = (sums[name] ?? 0) + count;
  return sums;
}

function largest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}
