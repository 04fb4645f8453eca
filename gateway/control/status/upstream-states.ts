import { z } from 'zod';
import { publishedStatus } from '../../platform/redis/process-statuses.ts';
import type { FleetGateway } from './fleet-status.ts';

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

/** Combines what live processes say of the upstreams, by origin. */
export function combineUpstreams(gateways: readonly Pick<FleetGateway, 'processes'>[]): UpstreamState[] {
  const seen = gateways
    .flatMap(({ processes }) => processes)
    .filter(({ state }) => state !== 'not_seen')
    .flatMap(({ services }) => Object.entries(services))
    .flatMap(([service, instances]) =>
      Object.entries(instances).map(([upstream, state]) => ({ upstream, service, state })),
    );
  return Array.from(
    Map.groupBy(seen, ({ upstream }) => upstream),
    ([upstream, entries]) => {
      const seenAs: UpstreamState['seenAs'] = {};
      for (const { state } of entries) seenAs[state] = (seenAs[state] ?? 0) + 1;
      const state = states.findLast((each) => seenAs[each] !== undefined) ?? 'unknown';
      return { upstream, service: entries.at(-1)?.service ?? '', state, seenAs };
    },
  ).toSorted((one, other) => one.upstream.localeCompare(other.upstream));
}
