import type { Limits } from '../plans/limits.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { quotaKeys } from '../redis/redis-keys.ts';
import { windowsOf, type WindowState } from './quota-decision.ts';

export interface UsedWindow extends WindowState {
  /** Requests counted. More than the limit where that was lowered meanwhile. */
  used: number;
}

/** How much of its quotas a key has used, and whether it is banned. Asking for it counts as nothing. */
export interface Usage {
  minute: UsedWindow;
  day: UsedWindow;
  /** Milliseconds to the end of the ban, 0 for a key that is not banned. */
  banMs: number;
  /** Refused requests that count towards a ban now. */
  violations: number;
  /** Redis' clock, in Unix milliseconds. */
  nowMs: number;
}

interface ReadUsageOptions {
  sha: string;
  /** Of the record that the limits are from, or anyRev. */
  rev: number;
  limits: Limits;
  banPolicy: { windowSeconds: number; maxBanSeconds: number };
}

/**
 * Both windows of a key, in one Redis command.
 * @returns undefined where the record has changed since it was read
 */
export async function readUsage(redis: RedisClient, options: ReadUsageOptions): Promise<Usage | undefined> {
  const { sha, rev, limits, banPolicy } = options;
  const [outcome, nowMs = 0, minuteUsed = 0, minuteLeftMs = 0, dayUsed = 0, banMs = 0, violations = 0] =
    await redis.readUsage(
      ...quotaKeys(sha),
      rev,
      banPolicy.windowSeconds * 1000,
      banPolicy.maxBanSeconds * 1000,
    );
  if (outcome !== 1) return undefined;
  const { minute, day } = windowsOf(limits, { minuteUsed, minuteLeftMs, dayUsed, nowMs });
  return {
    minute: { ...minute, used: minuteUsed },
    day: { ...day, used: dayUsed },
    banMs,
    violations,
    nowMs,
  };
}
