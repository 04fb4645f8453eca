import { Cluster } from 'ioredis';
import { z } from 'zod';
import { dayMs, dayNumberOf, utcDate } from '../limits/windows.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import { redisKeys, type CustomerId, type KeyPlace } from '../platform/redis/redis-keys.ts';
import type { LiveUsagePolicy } from './policies.ts';
import type { CurrentDecision } from './quota-decision.ts';

/** What counts need that are added to those in Redis from time to time. */
export interface CountingDependencies {
  redis: RedisClient;
  usagePolicy: Pick<LiveUsagePolicy, 'current'>;
  /** By Redis' clock, in Unix milliseconds. */
  now: () => number;
}

export type RedisAndClock = Pick<CountingDependencies, 'redis' | 'now'>;

interface WaitingCountsOptions<Count> {
  redis: RedisClient;
  /** Number of names beyond which further ones are not counted. */
  max: number;
  /** Number of names that are sent together: Redis has other things to do. */
  maxReported: number;
  /** Sends the command that adds a count. What Redis does not confirm is lost. */
  send: (count: Count) => Promise<unknown>;
}

/** Counts of a process by name that wait to be added to those in Redis, in the order in which they began. */
export function createWaitingCounts<Count>(options: WaitingCountsOptions<Count>) {
  const { redis, max, maxReported, send } = options;
  const waiting = new Map<string, Count>();

  /** Sends the counts that wait longest. @param all also what could wait for the next time */
  async function report(all = false): Promise<void> {
    const taken = waiting.entries().take(maxReported).toArray();
    for (const [name] of taken) waiting.delete(name);
    const counts = taken.map(([, count]) => count);
    // Redis is unavailable, which the gate reports.
    await sendTogether(counts);
    if (all && waiting.size > 0) await report(all);
  }

  async function sendTogether(counts: readonly Count[]): Promise<void> {
    // A write to the socket for each of some thousand commands is measurable.
    const socket = redis instanceof Cluster ? undefined : redis.stream;
    socket?.cork();
    const replies = counts.map(send);
    socket?.uncork();
    await Promise.allSettled(replies);
  }

  return {
    /** The count of a name, made at first. Undefined if too many wait, so that memory stays bounded. */
    get(name: string, make: () => Count): Count | undefined {
      let count = waiting.get(name);
      if (count === undefined && waiting.size < max) {
        count = make();
        waiting.set(name, count);
      }
      return count;
    },
    report,
  };
}

export type UsageTotals = ReturnType<typeof createUsageTotals>;

interface PlanUser {
  customerId: CustomerId;
  plan: string;
}

const totalNames = ['served', 'units', 'refused'] as const;
/** Requests, and what those that were served cost. */
type Totals = Record<(typeof totalNames)[number], number>;

/** Customers that wait to be ranked. Further ones are not ranked, so that memory stays bounded. */
const maxCustomers = 100_000;
/** Customers, or keys, of one report: Redis has other things to do. The others wait for the next one. */
const maxReported = 2000;

/**
 * Use of all customers together, for the page Usage: totals by UTC day and plan, and a ranking of the customers of each month. The
 * record of each customer is exact; these lack what a process has counted in the seconds before it was killed or lost Redis.
 */
export function createUsageTotals({ redis, usagePolicy, now }: CountingDependencies) {
  /** By day number and plan. */
  let days = new Map<number, Map<string, Totals>>();
  const ranking = createWaitingCounts<{ customerId: CustomerId; dayNumber: number; units: number }>({
    redis,
    max: maxCustomers,
    maxReported,
    send: ({ customerId, dayNumber, units }) =>
      redis.zincrby(redisKeys.usageRanking(monthOf(dayNumber)), units, customerId),
  });

  function add({ customerId, plan }: PlanUser, { served, units, refused }: Totals): void {
    const dayNumber = dayNumberOf(now());
    let plans = days.get(dayNumber);
    if (plans === undefined) days.set(dayNumber, (plans = new Map()));
    let totals = plans.get(plan);
    if (totals === undefined) plans.set(plan, (totals = { served: 0, units: 0, refused: 0 }));
    totals.served += served;
    totals.units += units;
    totals.refused += refused;
    const ranked = ranking.get(`${monthOf(dayNumber)} ${customerId}`, () => ({
      customerId,
      dayNumber,
      units: 0,
    }));
    if (ranked !== undefined) ranked.units += units;
  }

  function addDay(dayNumber: number, plans: ReadonlyMap<string, Totals>): Promise<unknown>[] {
    const month = monthOf(dayNumber);
    const day = utcDate(dayNumber).slice(6);
    const key = redisKeys.usageTotals(month);
    // A month is kept until its last day can be deleted, and for simplicity has 31 days, as in usage.lua.
    const endsAt = ((dayNumber - Number(day) + 32 + usagePolicy.current().retentionDays) * dayMs) / 1000;
    return [
      ...Array.from(plans).flatMap(([plan, totals]) =>
        totalNames
          .filter((name) => totals[name] !== 0)
          .map((name) => redis.hincrby(key, `${day} ${name} ${plan}`, totals[name])),
      ),
      ...[key, redisKeys.usageRanking(month)].map((each) => redis.expireat(each, endsAt)),
    ];
  }

  return {
    /** Counts one request. @param units what it costs */
    count: (user: PlanUser, { outcome }: Pick<CurrentDecision, 'outcome'>, units: number) =>
      add(
        user,
        outcome === 'allowed' ? { served: 1, units, refused: 0 } : { served: 0, units: 0, refused: 1 },
      ),
    /** Takes back a served request whose units were given back. */
    takeBack: (user: PlanUser, units: number) => add(user, { served: -1, units: -units, refused: 0 }),
    /** Adds counts to those in Redis. Never rejects: what it does not confirm is lost. @param all also what could wait */
    async report(all?: boolean): Promise<void> {
      const counted = days;
      days = new Map();
      // Redis is unavailable, which the gate reports.
      await Promise.allSettled([
        ranking.report(all),
        ...Array.from(counted).flatMap(([dayNumber, plans]) => addDay(dayNumber, plans)),
      ]);
    },
  };
}

const monthOf = (dayNumber: number) => utcDate(dayNumber).slice(0, 6);

/** Totals of a plan on one UTC day, as YYYYMMDD. */
type PlanDay = Totals & { plan: string; date: string };

/** Reads the totals of a month by day and plan. Those of one day and plan may be several items. @param month as YYYYMM */
export async function readUsageTotals(redis: RedisClient, month: string): Promise<PlanDay[]> {
  const fields = await redis.hgetall(redisKeys.usageTotals(month));
  return Object.entries(fields).flatMap(([field, count]) => {
    const [, day, name = '', plan = ''] = /^(\d\d) (served|units|refused) (.*)$/.exec(field) ?? [];
    if (day === undefined) return [];
    const totals: Totals = { served: 0, units: 0, refused: 0 };
    return [Object.assign(totals, { [name]: Number(count), date: month + day, plan })];
  });
}

/** Use of a key, some seconds old. */
export const keyUseSchema = z
  .object({
    lastUsedAt: z.iso.datetime(),
    servedToday: z
      .int()
      .describe('Requests of this UTC day that were not refused, also those that were given back'),
    refusedToday: z.int().describe('Requests of this UTC day that a limit or a ban refused'),
  })
  .meta({ id: 'KeyUse' });

type KeyUse = z.infer<typeof keyUseSchema>;

/** Keys that wait to be reported. Further ones are not counted, so that memory stays bounded. */
const maxKeys = 100_000;
const keptMs = 400 * 86_400_000;

interface CountedKey {
  place: KeyPlace;
  lastMs: number;
  /** UTC day of the last request, which the counts are of. */
  dayNumber: number;
  served: number;
  refused: number;
}

/** Counts the use of each valid key, without a Redis command for each request. */
export function createKeyUseReports({ redis, now }: RedisAndClock) {
  const keys = createWaitingCounts<CountedKey>({
    redis,
    max: maxKeys,
    maxReported,
    send: ({ place, lastMs, dayNumber, served, refused }) =>
      redis.addKeyUse(redisKeys.keyUse(place), lastMs, dayNumber, served, refused, keptMs),
  });

  return {
    count({ customerId, keyHash }: KeyPlace, { outcome }: Pick<CurrentDecision, 'outcome'>): void {
      const place = { customerId, keyHash };
      const key = keys.get(keyHash, () => ({ place, lastMs: 0, dayNumber: 0, served: 0, refused: 0 }));
      if (key === undefined) return;
      key.lastMs = Math.floor(now());
      const dayNumber = dayNumberOf(key.lastMs);
      if (dayNumber !== key.dayNumber) Object.assign(key, { dayNumber, served: 0, refused: 0 });
      if (outcome === 'allowed') key.served += 1;
      else key.refused += 1;
    },
    /** Adds counts to those in Redis. Never rejects: what it does not confirm is lost. */
    report: keys.report,
  };
}

/** Reads the use of a key. Null if it was not used, as far as that is kept. */
export async function readKeyUse({ redis, now }: RedisAndClock, place: KeyPlace): Promise<KeyUse | null> {
  const text = (await redis.get(redisKeys.keyUse(place))) ?? '';
  const [, lastMs, day, served, refused] = /^(\d{1,15}) (\d+) (\d+) (\d+)$/.exec(text) ?? [];
  if (lastMs === undefined) return null;
  const isToday = Number(day) === dayNumberOf(now());
  return {
    lastUsedAt: new Date(Number(lastMs)).toISOString(),
    servedToday: isToday ? Number(served) : 0,
    refusedToday: isToday ? Number(refused) : 0,
  };
}

/** Member for the refused requests of a customer, beside its id for all of them. */
export const refusedMember = (customerId: CustomerId) => `${customerId}:refused`;

/** Length of the slot that requests are counted in. */
export const slotMs = 10_000;
const keptSeconds = 120;
/** Limit for each instance and report. A customer that is spread over many instances and busy on none may be missed. */
const maxBusyReported = 50;
/** Further customers are not counted until the next report, so that memory stays bounded whatever clients send. */
const maxCounted = 10_000;

/** Counts which customers are busy now, beside the quotas and without a Redis command for each request. */
export function createBusyCustomers({ redis, now }: RedisAndClock) {
  const counts = new Map<CustomerId, { requests: number; refused: number }>();
  return {
    count({ customerId }: { customerId: CustomerId }, { outcome }: Pick<CurrentDecision, 'outcome'>): void {
      let entry = counts.get(customerId);
      if (entry === undefined) {
        if (counts.size >= maxCounted) return;
        entry = { requests: 0, refused: 0 };
        counts.set(customerId, entry);
      }
      entry.requests += 1;
      if (outcome !== 'allowed') entry.refused += 1;
    },
    /** Adds the counts of the busiest customers to those of other instances. Never rejects: what Redis does not confirm is lost. */
    async report(): Promise<void> {
      if (counts.size === 0) return;
      const busiest = [...counts]
        .toSorted(([, one], [, other]) => other.requests - one.requests)
        .slice(0, maxBusyReported);
      counts.clear();
      const key = redisKeys.busy(Math.floor(now() / slotMs));
      const added = busiest.flatMap(([id, { requests, refused }]) => {
        const all = redis.zincrby(key, requests, id);
        return refused === 0 ? all : [all, redis.zincrby(key, refused, refusedMember(id))];
      });
      await Promise.allSettled([...added, redis.expire(key, keptSeconds)]);
    },
    /** Drops the counts of an outage, which are of no use to other instances after it. */
    clear: () => counts.clear(),
  };
}
