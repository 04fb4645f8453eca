import type { Limits } from '../plans/limits.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { quotaKeys } from '../redis/redis-keys.ts';
import { scriptOutcome } from '../redis/script-outcomes.ts';
import { operatorsReason } from './ban-reason.ts';
import { windowsOf, type WindowState } from './quota-decision.ts';

export interface UsedWindow extends WindowState {
  /** Requests counted. More than the limit if that was lowered in the meantime. */
  used: number;
}

/** Use of a key's quotas, and its ban. Reading it counts nothing. */
export interface Usage {
  minute: UsedWindow;
  day: UsedWindow;
  /** Milliseconds to the end of the ban; 0 for a key that is not banned. */
  banMs: number;
  /** Reason that an operator gave for the ban. */
  banReason: string | undefined;
  /** Refused requests that count towards a ban now. */
  strikes: number;
  /** Redis' clock, in Unix milliseconds. */
  nowMs: number;
}

interface ReadUsageOptions {
  keyHash: string;
  /** Rev of the record that the limits are from, or anyRev. */
  rev: number;
  limits: Limits;
  banPolicy: { windowSeconds: number; maxBanSeconds: number };
}

/**
 * Reads both windows of a key by one Redis command.
 * @returns undefined if the record has changed since it was read
 */
export async function readUsage(redis: RedisClient, options: ReadUsageOptions): Promise<Usage | undefined> {
  const { keyHash, rev, limits, banPolicy } = options;
  const [
    outcome,
    nowMs = 0,
    minuteUsed = 0,
    minuteLeftMs = 0,
    dayUsed = 0,
    banMs = 0,
    strikes = 0,
    ban = '',
  ] = await redis.readUsage(
    ...quotaKeys(keyHash),
    rev,
    banPolicy.windowSeconds * 1000,
    banPolicy.maxBanSeconds * 1000,
  );
  if (outcome !== scriptOutcome.allowed) return undefined;
  const { minute, day } = windowsOf(limits, { minuteUsed, minuteLeftMs, dayUsed, nowMs });
  return {
    minute: { ...minute, used: minuteUsed },
    day: { ...day, used: dayUsed },
    banMs,
    banReason: operatorsReason(String(ban)),
    strikes,
    nowMs,
  };
}
