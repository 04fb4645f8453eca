import { LRUCache } from 'lru-cache';
import type { Limits } from '../../limits/limits.ts';
import { isWindowName, windowNames } from '../../limits/windows.ts';
import { countKeys } from '../../operations/api-key-index.ts';
import { isRecorded, pastUse, type PastUse } from '../../operations/past-impact.ts';
import {
  planImpacts,
  planUse,
  readPlan,
  type PlanImpact,
  type PlanReading,
  type PlanUse,
} from '../../operations/plan-impact.ts';
import type { Session } from '../../operations/session.ts';
import { readPlanTraffic, type PlanTraffic } from '../../operations/traffic.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import {
  createBackgroundRead,
  backgroundPageSize as pageSize,
  type BackgroundState,
} from './background-read.ts';

/** Counts that need all keys to be read. Each process has its own, which are some seconds old. */
export interface PlanCounts {
  /** Valid keys by plan. */
  keys(): Promise<Counted<ReadonlyMap<string, Readonly<PlanImpact>>>>;
  /** Use of the keys on a plan. */
  use(plan: string): Promise<Counted<PlanUse>>;
  /** Recorded use of the keys on a plan, in the windows of these limits. */
  pastUse(plan: string, limits: Limits): Promise<Counted<PastUse>>;
  /** Traffic of the last hour by plan. */
  lastHour(): Promise<Record<string, PlanTraffic>>;
}

/** A count as the API shows it. */
export interface Counted<T> {
  /** Until the first read is complete, that of the keys read so far, or undefined. */
  value: T | undefined;
  /** When it was complete, ISO 8601 in UTC. */
  asOf: string | null;
  /** The read under way: ask again for its result. */
  counting: { read: number; total: number } | null;
}

const secondMs = 1000;
const keysMaxAgeMs = 30 * secondMs;
/** Minute windows change faster than the number of keys. */
const useMaxAgeMs = 10 * secondMs;
/** Days and months that are over do not change, but the keys of a plan do. */
const pastUseMaxAgeMs = 600 * secondMs;
const trafficMaxAgeMs = 5 * secondMs;
/** Plans whose use is kept: an id and two numbers a key, and of the past up to 42 numbers a key with use. */
const maxPlans = 5;

export function createPlanCounts({ read }: Pick<ApiDependencies, 'read'>): PlanCounts {
  const keys = createBackgroundRead<ReadonlyMap<string, Readonly<PlanImpact>>>({
    read,
    maxAgeMs: keysMaxAgeMs,
    run: (session, onPage) => planImpacts(session, new Map(), { pageSize, onPage }),
  });
  const ofPlan = <T>(
    plan: string,
    maxAgeMs: number,
    begin: (session: Session) => PlanReading<T> | Promise<PlanReading<T>>,
  ) =>
    createBackgroundRead<T>({
      read,
      maxAgeMs,
      async run(session, onPage) {
        const reading = await begin(session);
        const { soFar } = reading;
        await readPlan(session, plan, [reading], { pageSize, onPage: (keys) => onPage(keys, soFar) });
        return soFar;
      },
    });
  const uses = perName((plan) => ofPlan(plan, useMaxAgeMs, planUse));
  const pastUses = perName((name) => {
    const [plan = '', ...windows] = name.split(' ');
    return ofPlan(plan, pastUseMaxAgeMs, (session) => pastUse(session, windows.filter(isWindowName)));
  });
  let traffic: { byPlan: Promise<Record<string, PlanTraffic>>; atMs: number } | undefined;

  const describe = <T>(state: BackgroundState<T>) => describeCount(read, state);

  return {
    keys: async () => describe(await keys.state()),
    use: async (plan) => describe(await uses(plan).state()),
    async pastUse(plan, limits) {
      const windows = windowNames.filter((window) => limits[window] !== undefined && isRecorded(window));
      return describe(await pastUses([plan, ...windows].join(' ')).state());
    },
    lastHour() {
      const nowMs = performance.now();
      if (traffic === undefined || nowMs - traffic.atMs > trafficMaxAgeMs) {
        const byPlan = read(readPlanTraffic);
        traffic = { byPlan, atMs: nowMs };
        byPlan.catch(() => (traffic = undefined));
      }
      return traffic.byPlan;
    },
  };
}

/** @param readTotal reads what the progress is a part of: the number of keys by default */
export async function describeCount<T>(
  read: ApiDependencies['read'],
  { latest, progress, soFar }: BackgroundState<T>,
  readTotal: (session: Session) => Promise<number> = ({ redis }) => countKeys(redis),
): Promise<Counted<T>> {
  return {
    value: latest?.value ?? soFar,
    asOf: latest === undefined ? null : new Date(latest.atMs).toISOString(),
    counting: progress === undefined ? null : { read: progress, total: await read(readTotal) },
  };
}

/** The read of each name, of the names that were asked for last. */
function perName<T extends object>(create: (name: string) => T): (name: string) => T {
  const cache = new LRUCache<string, T>({ max: maxPlans });
  return (name) => {
    const found = cache.get(name) ?? create(name);
    cache.set(name, found);
    return found;
  };
}
