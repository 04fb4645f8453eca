import type { Caller } from '../api-keys/api-key-cache.ts';
import type { Limits } from '../plans/limits.ts';
import { quotaKeys, type QuotaKeys } from '../redis/redis-keys.ts';
import type { BanPolicy } from './ban-policy.ts';
import type { QuotaArguments, QuotaScript } from './quota-batch.ts';
import { windowsDecision, type QuotaDecision } from './quota-decision.ts';

/** What the script is given for a caller, as long as it stays the same. */
interface Asked {
  keys: QuotaKeys;
  limits: Limits;
  policy: BanPolicy;
  args: QuotaArguments;
}

/** By caller. Text that is put together anew is one of the dearer parts of a Redis command. */
const asked = new WeakMap<Caller, Asked>();

function askedOf(caller: Caller, limits: Limits, policy: BanPolicy): Asked {
  const known = asked.get(caller);
  const { minute, day } = limits;
  if (known?.limits.minute === minute && known.limits.day === day && known.policy === policy) return known;
  const args: QuotaArguments = [String(caller.rev), String(minute), String(day), policyArgument(policy)];
  const made = { keys: known?.keys ?? quotaKeys(caller.sha), limits, policy, args };
  asked.set(caller, made);
  return made;
}

/** As consume.lua expects it. */
function policyArgument(policy: BanPolicy): string {
  const { enabled, violations, windowSeconds, banSeconds, maxBanSeconds, resetSeconds } = policy;
  const lengths = [windowSeconds, banSeconds, maxBanSeconds, resetSeconds];
  return [enabled ? violations : 0, ...lengths.map((seconds) => seconds * 1000)].join(' ');
}

/**
 * Decides in one Redis round trip and counts an allowed request in both windows.
 *
 * @throws RedisUnavailable where Redis does not answer; ReplyError where keys were edited into the wrong type.
 */
export function consumeQuota(
  script: QuotaScript,
  caller: Caller,
  limits: Limits,
  policy: BanPolicy,
): Promise<QuotaDecision> {
  const { keys, args } = askedOf(caller, limits, policy);
  return script.run(keys, args, (answer) => decisionOf(answer, limits));
}

function decisionOf(answer: readonly number[], limits: Limits): QuotaDecision {
  const [outcome = -1, nowMs = 0, minuteUsedOrBanMs = 0, minuteLeftOrIsNew = 0, dayUsed = 0] = answer;
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
      throw new Error(`consume.lua answered ${outcome}`);
  }
}
