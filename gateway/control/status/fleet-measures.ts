import { z } from 'zod';
import { publishedStatus, recentMeasures } from '../../platform/redis/process-statuses.ts';
import { anonymousPlan } from '../../quota/plan-settings.ts';
import { latencyOf } from '../../quota/recent-measures.ts';
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
  const errors = Object.entries(addUp(measured.map((recent) => recent.errors)));
  return {
    requests: sum(Object.values(byStatus)),
    byStatus,
    refused: sum(Object.values(refused)) - ofAddresses,
    withoutKey: sum(measured.map(({ unauthenticated }) => unauthenticated)) + ofAddresses,
    bans: sum(measured.map(({ bans }) => bans)),
    latencyMs: latencyOf(addUp(measured.map((recent) => recent.durations))),
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

const stateSchema = publishedStatus.shape.services.valueType.valueType;
type State = z.infer<typeof stateSchema>;

/** An instance of a service as all processes see it. */
export const upstreamStateSchema = z.object({
  upstream: z.string().describe('Origin'),
  service: z.string().describe('Name of the service that it is an instance of'),
  state: stateSchema.describe('The worst that a process sees'),
  seenAs: z.partialRecord(stateSchema, z.int()).describe('Number of processes by the state that they see'),
});

export type UpstreamState = z.infer<typeof upstreamStateSchema>;

/** Best first. */
const states: readonly State[] = ['ready', 'unknown', 'not_ready', 'down'];

/** Combines what live processes say of the upstreams, by origin and service: several may be at one origin. */
export function combineUpstreams(gateways: readonly Pick<FleetGateway, 'processes'>[]): UpstreamState[] {
  const seen = gateways
    .flatMap(({ processes }) => processes)
    .filter(({ state }) => state !== 'not_seen')
    .flatMap(({ services }) => Object.entries(services))
    .flatMap(([service, instances]) =>
      Object.entries(instances).map(([upstream, state]) => ({ upstream, service, state })),
    );
  return Array.from(
    Map.groupBy(seen, ({ upstream, service }) => `${upstream} ${service}`).values(),
    (entries) => {
      const { upstream = '', service = '' } = entries[0] ?? {};
      const seenAs: UpstreamState['seenAs'] = {};
      for (const { state } of entries) seenAs[state] = (seenAs[state] ?? 0) + 1;
      const state = states.findLast((each) => seenAs[each] !== undefined) ?? 'unknown';
      return { upstream, service, state, seenAs };
    },
  ).toSorted((one, other) => one.upstream.localeCompare(other.upstream));
}
