import { anyRev } from '../api-keys/api-key-cache.ts';
import { maxLimit } from '../plans/limits.ts';
import { defaultBanPolicy, type BanPolicy } from '../quota/ban-policy.ts';
import { readUsage } from '../quota/usage.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { windowView, type WindowView } from './key-usage.ts';
import type { LimitsInForce } from './limits-in-force.ts';

/** Use of both windows of a key now. */
export interface KeyWindows {
  minute: WindowView;
  day: WindowView;
  /** Milliseconds to the end of the ban; 0 for a key that is not banned. */
  banMs: number;
  /** Refused requests that count towards a ban now. */
  strikes: number;
  /** Redis' clock, in Unix milliseconds. */
  nowMs: number;
}

/** Reads both windows by one Redis command. Counts nothing. */
export async function readKeyWindows(
  redis: RedisClient,
  keyHash: string,
  { minute, day }: LimitsInForce,
  banPolicy: BanPolicy = defaultBanPolicy,
): Promise<KeyWindows> {
  const limits = { minute: minute.limit ?? maxLimit, day: day.limit ?? maxLimit };
  const usage = await readUsage(redis, { keyHash, rev: anyRev, limits, banPolicy });
  if (usage === undefined) throw new Error('read-usage-5.lua compared a rev despite anyRev');
  const { banMs, strikes, nowMs } = usage;
  return {
    minute: windowView(usage.minute, minute.limit ?? undefined, nowMs),
    day: windowView(usage.day, day.limit ?? undefined, nowMs),
    banMs,
    strikes,
    nowMs,
  };
}
