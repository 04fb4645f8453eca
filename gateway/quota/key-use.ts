import { z } from 'zod';
import { dayNumberOf } from '../limits/utc-day.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import { redisKeys, type KeyPlace } from '../platform/redis/redis-keys.ts';
import type { DecisionListener } from './quota-decision.ts';
import { createWaitingCounts } from './waiting-counts.ts';

/** Use of a key, some seconds old. */
export const keyUseSchema = z
  .object({
    lastUsedAt: z.iso.datetime(),
    servedToday: z.int().describe('Requests of this UTC day that were not refused'),
    refusedToday: z.int().describe('Requests of this UTC day that were answered with 429'),
  })
  .meta({ id: 'KeyUse' });

export type KeyUse = z.infer<typeof keyUseSchema>;

export interface KeyUseReports {
  count: DecisionListener;
  /** Adds counts to those in Redis. Never rejects: what it does not confirm is lost. @param all also what could wait */
  report(all?: boolean): Promise<void>;
}

interface KeyUseDependencies {
  redis: RedisClient;
  now: () => number;
}

/** Keys that wait to be reported. Further ones are not counted, so that memory stays bounded. */
const maxKeys = 100_000;
/** Keys of one report: Redis has other things to do. The others wait for the next one. */
const maxReported = 2000;
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
export function createKeyUseReports({ redis, now }: KeyUseDependencies): KeyUseReports {
  const keys = createWaitingCounts<CountedKey>({
    redis,
    max: maxKeys,
    maxReported,
    send: ({ place, lastMs, dayNumber, served, refused }) =>
      redis.addKeyUse(redisKeys.keyUse(place), lastMs, dayNumber, served, refused, keptMs),
  });

  return {
    count({ customerId, keyHash }, { outcome }) {
      const place = { customerId, keyHash };
      const key = keys.get(keyHash, () => ({ place, lastMs: 0, dayNumber: 0, served: 0, refused: 0 }));
      if (key === undefined) return;
      key.lastMs = Math.floor(now());
      const dayNumber = dayNumberOf(key.lastMs);
      if (dayNumber !== key.dayNumber) Object.assign(key, { dayNumber, served: 0, refused: 0 });
      if (outcome === 'allowed') key.served += 1;
      else key.refused += 1;
    },
    report: keys.report,
  };
}

/** Reads the use of a key. Null if it was not used, as far as that is kept. */
export async function readKeyUse(
  { redis, now }: KeyUseDependencies,
  place: KeyPlace,
): Promise<KeyUse | null> {
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
