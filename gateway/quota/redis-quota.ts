import type { RedisClient } from '../redis/redis.ts';
import type { Caller } from '../api-keys/api-keys.ts';
import type { BanPolicy } from './ban-policy.ts';
import type { Limits } from './limits.ts';
import { type QuotaDecision, windowsDecision } from './quota-decision.ts';
import type { RedisGate } from '../redis/redis-gate.ts';
import { quotaKeys } from '../redis/redis-keys.ts';

/**
 * Decides in one Redis round trip and counts an allowed request in both windows.
 *
 * @throws RedisUnavailable where Redis does not answer; ReplyError where keys were edited into the wrong type.
 */
export async function consumeQuota(
  redis: RedisClient,
  gate: Pick<RedisGate, 'send'>,
  caller: Caller,
  limits: Limits,
  policy: BanPolicy,
): Promise<QuotaDecision> {
  const { sha } = caller;
  const [outcome = -1, nowMs = 0, minuteUsedOrBanMs = 0, minuteLeftOrIsNew = 0, dayUsed = 0] =
    await gate.send(() =>
      redis.consumeQuota(
        ...quotaKeys(sha),
        caller.rev,
        limits.minute,
        limits.day,
        policy.enabled ? policy.violations : 0,
        policy.windowSeconds * 1000,
        policy.banSeconds * 1000,
        policy.maxBanSeconds * 1000,
        policy.resetSeconds * 1000,
      ),
    );
  switch (outcome) {
    case 0:
    case 1:
      return windowsDecision(outcome === 1, limits, {
        minuteUsed: minuteUsedOrBanMs,
        minuteLeftMs: minuteLeftOrIsNew,
        dayUsed,
        nowMs,
      });
    case 2:
      return {
        outcome: 'banned',
        limits,
        remainingMs: minuteUsedOrBanMs,
        nowMs,
        isNew: minuteLeftOrIsNew === 1,
      };
    case 3:
      return { outcome: 'stale' };
    default:
      throw new Error(`consume-5.lua answered ${outcome}`);
  }
}
