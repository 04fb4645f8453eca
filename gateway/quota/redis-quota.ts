import type { Caller } from '../api-keys/api-key-cache.ts';
import type { Limits } from '../plans/limits.ts';
import { scriptOutcome } from '../redis/script-outcomes.ts';
import { operatorsReason } from './ban-reason.ts';
import type { QuotaArguments, QuotaBatch } from './quota-batch.ts';
import { decisionOf, type QuotaDecision } from './quota-decision.ts';

/**
 * Decides in one Redis round trip, and counts an allowed request in both windows.
 * @param policyArgument both policies as formatScriptArgument returns them
 * @throws RedisUnavailable if Redis does not reply; ReplyError if keys were edited into the wrong type
 */
export function consumeQuota(
  batch: QuotaBatch,
  caller: Caller,
  limits: Limits,
  policyArgument: string,
): Promise<QuotaDecision> {
  const { rev, quotaKeys } = caller;
  const { minute, day } = limits;
  const args: QuotaArguments = [String(rev), String(minute), String(day), policyArgument];
  return batch.run(quotaKeys, args, (reply) => parseReply(reply, limits));
}

function parseReply(reply: readonly number[], limits: Limits): QuotaDecision {
  const [outcome = -1, nowMs = 0, minuteUsedOrBanMs = 0, minuteLeftOrIsNew = 0, dayUsedOrBan = 0] = reply;
  switch (outcome) {
    case scriptOutcome.limited:
    case scriptOutcome.allowed:
      return decisionOf(outcome === scriptOutcome.allowed, limits, {
        minuteUsed: minuteUsedOrBanMs,
        minuteLeftMs: minuteLeftOrIsNew,
        dayUsed: dayUsedOrBan,
        nowMs,
      });
    case scriptOutcome.banned:
      return {
        outcome: 'banned',
        limits,
        remainingMs: minuteUsedOrBanMs,
        nowMs,
        isNew: minuteLeftOrIsNew === 1,
        reason: operatorsReason(String(dayUsedOrBan)),
      };
    case scriptOutcome.stale:
      return { outcome: 'stale' };
    default:
      throw new Error(`consume.lua returned the outcome ${outcome}`);
  }
}
