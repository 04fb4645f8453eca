import { anyRev } from '../api-keys/api-key-cache.ts';
import { maxLimit, withLimits, type SomeLimits } from '../limits/limits.ts';
import { forRequired, mapWindows, type ByRequiredWindow } from '../limits/windows.ts';
import { defaultBanPolicy, type BanPolicy } from '../quota/ban-policy.ts';
import { readUsage, type UsedWindow } from '../quota/usage.ts';
import type { RedisClient } from '../redis/redis-client.ts';

/** Use of one window. */
export interface WindowView {
  used: number;
  /** Null if it is invalid. */
  limit: number | null;
  remaining: number | null;
  /** ISO 8601 in UTC. */
  resetsAt: string;
}

/** Each required window, and others that have a limit. */
export type WindowViews = ByRequiredWindow<WindowView>;

/** Use of the windows of a key now. */
export interface KeyWindows {
  windows: WindowViews;
  /** Milliseconds to the end of the ban; 0 for a key that is not banned. */
  banMs: number;
  /** Refused requests that count towards a ban now. */
  strikes: number;
  /** Redis' clock, in Unix milliseconds. */
  nowMs: number;
}

/** Reads the windows by one Redis command. Counts nothing. @param limits those that are known */
export async function readKeyWindows(
  redis: RedisClient,
  keyHash: string,
  limits: SomeLimits,
  banPolicy: BanPolicy = defaultBanPolicy,
): Promise<KeyWindows> {
  const usage = await readUsage(redis, {
    keyHash,
    rev: anyRev,
    limits: withLimits(forRequired(maxLimit), limits),
    banPolicy,
  });
  if (usage === undefined) throw new Error('read-usage-4.lua compared a rev despite anyRev');
  const { windows, banMs, strikes, nowMs } = usage;
  return {
    windows: mapWindows(windows, (window, name) => windowView(window, limits[name], nowMs)),
    banMs,
    strikes,
    nowMs,
  };
}

/** @param limit undefined for an invalid one */
function windowView(
  { used, remaining, resetMs }: UsedWindow,
  limit: number | undefined,
  nowMs: number,
): WindowView {
  return {
    used,
    limit: limit ?? null,
    remaining: limit === undefined ? null : remaining,
    resetsAt: new Date(nowMs + resetMs).toISOString(),
  };
}
