import type { FleetGateway } from '../fleet-status.ts';

type State = FleetGateway['processes'][number]['upstreams'][string];

/** An instance of a service as all processes see it. */
export interface UpstreamState {
  /** Origin. */
  upstream: string;
  /** Name of the service; absent if only processes of an older version see it. */
  service?: string;
  /** The worst state. */
  state: State;
  /** Number of processes that see it in each state. */
  seenAs: Partial<Record<State, number>>;
}

/** Best first. */
const states: readonly State[] = ['ready', 'unknown', 'not_ready', 'down'];

/** Combines what live processes say of the upstreams, by origin. */
export function combineUpstreams(gateways: readonly Pick<FleetGateway, 'processes'>[]): UpstreamState[] {
  const processes = gateways
    .flatMap(({ processes }) => processes)
    .filter(({ state }) => state !== 'not_seen');
  const services = new Map(
    processes.flatMap(({ services: byName }) =>
      Object.entries(byName).flatMap(([service, states]) =>
        Object.keys(states).map((upstream) => [upstream, service] as const),
      ),
    ),
  );
  const seen = processes.flatMap(({ upstreams }) => Object.entries(upstreams));
  return Array.from(
    Map.groupBy(seen, ([upstream]) => upstream),
    ([upstream, entries]) => {
      const seenAs: UpstreamState['seenAs'] = {};
      for (const [, state] of entries) seenAs[state] = (seenAs[state] ?? 0) + 1;
      const state = states.findLast((each) => seenAs[each] !== undefined) ?? 'unknown';
      const service = services.get(upstream);
      return { upstream, ...(service === undefined ? {} : { service }), state, seenAs };
    },
  ).toSorted((one, other) => one.upstream.localeCompare(other.upstream));
}
