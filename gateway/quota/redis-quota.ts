import type { Span } from '@opentelemetry/api';
import type { Caller } from '../api-keys/api-key-cache.ts';
import type { Limits } from '../plans/limits.ts';
import type { TrialLimits } from '../plans/trial.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { scriptOutcome } from '../redis/script-outcomes.ts';
import { operatorsReason } from './ban-reason.ts';
import type { QuotaArguments, QuotaBatch } from './quota-batch.ts';
import { decisionOf, type QuotaDecision, type WindowName } from './quota-decision.ts';

/** Limits on trial for one request. */
export interface CountedTrial {
  limits: TrialLimits;
  /** Called if they would have refused the request, with the window that decides. */
  onRefusal: (window: WindowName) => void;
}

/**
 * Decides in one Redis round trip, and counts an allowed request in both windows.
 * @param policyArgument both policies as formatScriptArgument returns them
 * @param span of the decision, if traces are exported
 * @throws RedisUnavailable if Redis does not reply; ReplyError if keys were edited into the wrong type
 */
export function consumeQuota(
  batch: QuotaBatch,
  caller: Caller,
  limits: Limits,
  policyArgument: string,
  trial?: CountedTrial,
  span?: Span,
): Promise<QuotaDecision> {
  const { rev, quotaKeys } = caller;
  const minute = trial === undefined ? String(limits.minute) : trialArgument(caller, limits, trial.limits);
  const args: QuotaArguments = [String(rev), minute, String(limits.day), policyArgument];
  const parse = (reply: readonly number[]) => {
    const refusedBy = trialWindows[reply[5] ?? 0];
    if (refusedBy !== undefined) trial?.onRefusal(refusedBy);
    return parseReply(reply, limits);
  };
  return batch.run(quotaKeys, args, parse, span);
}

/** In place of the minute limit, so that a request of a key without a trial has no further argument. */
function trialArgument({ keyHash }: Caller, { minute }: Limits, trial: TrialLimits): string {
  return `${minute} ${trial.minute} ${trial.day} ${trial.since} ${redisKeys.trial(keyHash)}`;
}

/** By the sixth element of a reply. */
const trialWindows: readonly (WindowName | undefined)[] = [undefined, 'minute', 'day'];

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
        strikesLeft: reply[6],
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
