import { presentSlots, readBusiestAddresses, type BusyAddress } from '../../operations/busiest-addresses.ts';
import {
  readBusiestEndedKeys,
  readBusiestKeyUsage,
  type BusyKeyUsage,
  type EndedKeyUse,
} from '../../operations/busiest-keys.ts';
import { describeFleet } from '../../operations/describe-fleet.ts';
import { groupByGateway, readFleetStatus, type FleetStatus } from '../../operations/fleet-status.ts';
import { createFleetTraffic } from '../../operations/fleet-traffic.ts';
import { readLastHour } from '../../operations/problems/last-hour.ts';
import { readRedisStatus, type RedisServerStatus } from '../../operations/redis-status.ts';
import type { TrafficPoint } from '../../operations/traffic.ts';
import type { Service } from '../../service.ts';
import type { ApiDependencies } from '../api/api-dependencies.ts';
import type { LiveState } from './live-state.ts';
import { createPeriodically } from './periodically.ts';

export interface LiveReaderDependencies extends Pick<ApiDependencies, 'read'> {
  /** This gateway itself, whose state is known without Redis. */
  service: Pick<Service, 'health' | 'statuses'>;
  /** Whether the gateway runs this Redis itself. */
  redisIsPrivate: boolean;
  /** Unix milliseconds. */
  now: () => number;
}

/** A reply that takes longer comes too late for this second. */
const timeoutMs = 900;
const serversMs = 5000;
const busiestMs = 3000;
const recordMs = 15_000;
const busiestCount = 10;

const nothing: FleetStatus = {
  atMs: 0,
  gateways: [],
  activeBans: 0,
  withoutStatus: [],
  disagreements: [],
  invalidSettings: [],
};

/**
 * Creates the reading of the state that consoles show, to be called each second. The state of the whole fleet is in Redis;
 * while that is unavailable, this gateway goes on with what it knows itself.
 */
export function createLiveReader(dependencies: LiveReaderDependencies): () => Promise<LiveState> {
  const { read, service, redisIsPrivate, now } = dependencies;
  const addReading = createFleetTraffic();
  const disagreeingSince = new Map<string, number>();
  let fleet = nothing;
  let unavailableSince: string | undefined;
  const servers = createPeriodically<RedisServerStatus[]>(serversMs, [], () =>
    read(({ redis }) => readRedisStatus(redis)),
  );
  const busiest = createPeriodically<BusyKeyUsage[] | null>(busiestMs, null, () =>
    read((session) => readBusiestKeyUsage(session, busiestCount)),
  );
  const busiestAddresses = createPeriodically<BusyAddress[]>(busiestMs, [], () =>
    read((session) => readBusiestAddresses(session, busiestCount, presentSlots)),
  );
  const endedKeys = createPeriodically<EndedKeyUse[]>(busiestMs, [], () => read(readBusiestEndedKeys));
  const lastHour = createPeriodically<TrafficPoint[]>(recordMs, [], () => read(readLastHour));

  /** @returns whether Redis is available */
  async function readFleet(): Promise<boolean> {
    try {
      fleet = await within(read(readFleetStatus));
      unavailableSince = undefined;
      for (const key of disagreeingSince.keys()) {
        if (!fleet.disagreements.some((each) => each.key === key)) disagreeingSince.delete(key);
      }
      for (const { key } of fleet.disagreements) {
        if (!disagreeingSince.has(key)) disagreeingSince.set(key, fleet.atMs);
      }
      return true;
    } catch {
      unavailableSince ??= service.health().redisUnavailableSince ?? new Date(now()).toISOString();
      fleet = await replaceOwn(fleet);
      return false;
    }
  }

  /** The processes of this gateway as they are now, the others as they were. */
  async function replaceOwn(last: FleetStatus): Promise<FleetStatus> {
    const atMs = now();
    const own = groupByGateway(
      (await service.statuses()).map((status) => Object.assign({}, status, { at: atMs })),
      atMs,
    );
    const others = last.gateways.filter(({ id }) => own.every((gateway) => gateway.id !== id));
    return { ...last, atMs, gateways: [...own, ...others] };
  }

  return async function readLiveState() {
    const available = await readFleet();
    if (available)
      for (const part of [servers, busiest, busiestAddresses, endedKeys, lastHour]) part.refresh();
    const { atMs, gateways } = fleet;
    const since = unavailableSince ?? new Date(atMs).toISOString();
    const redis = available
      ? { available, servers: servers.value() }
      : { available, since: service.health().redisUnavailableSince ?? since };
    const processes = gateways.flatMap((gateway) => gateway.processes);
    const traffic = addReading(processes, atMs);
    const state = describeFleet({
      redis,
      redisIsPrivate,
      fleet,
      lastHour: lastHour.value(),
      perSecond: traffic?.perSecond,
      busiestAddresses: busiestAddresses.value(),
      endedKeys: endedKeys.value(),
      disagreeingSince,
    });
    return {
      ...state,
      redis,
      traffic: traffic ?? null,
      busiestKeys: busiest.value()?.map(shownKey) ?? null,
    };
  };
}

const shownKey = ({ id, name, plan, state, requests, refused }: BusyKeyUsage) => ({
  id,
  name,
  plan,
  state,
  requests,
  refused,
});

/** @throws Error if the promise takes too long */
function within<T>(promise: Promise<T>): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no reply within ${timeoutMs} ms`)), timeoutMs);
  return Promise.race([promise, expired]).finally(() => clearTimeout(timer));
}
