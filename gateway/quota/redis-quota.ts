import type { Caller } from '../api-keys/api-keys.ts';
import type { BanPolicy } from './ban-policy.ts';
import type { Limits } from './limits.ts';
import { type QuotaDecision, windowsDecision } from './quota-decision.ts';
import type { QuotaScript } from './quota-script.ts';
import { quotaKeys } from '../redis/redis-keys.ts';

/** Made once for each object: text that is put together anew is one of the dearer parts of a Redis command. */
function madeOnce<Source extends object, Made>(make: (source: Source) => Made): (source: Source) => Made {
  const made = new WeakMap<Source, Made>();
  return function get(source) {
    let known = made.get(source);
    if (known === undefined) {
      known = make(source);
      made.set(source, known);
    }
    return known;
  };
}

const keysOf = madeOnce(({ sha }: Caller) => quotaKeys(sha));

/** As consume.lua expects it. */
const policyArgument = madeOnce((policy: BanPolicy) => {
  const { enabled, violations, windowSeconds, banSeconds, maxBanSeconds, resetSeconds } = policy;
  const lengths = [windowSeconds, banSeconds, maxBanSeconds, resetSeconds];
  return [enabled ? violations : 0, ...lengths.map((seconds) => seconds * 1000)].join(' ');
});

/**
 * Decides in one Redis round trip and counts an allowed request in both windows.
 *
 * @throws RedisUnavailable where Redis does not answer; ReplyError where keys were edited into the wrong type.
 */
export async function consumeQuota(
  script: QuotaScript,
  caller: Caller,
  limits: Limits,
  policy: BanPolicy,
): Promise<QuotaDecision> {
  const [outcome = -1, nowMs = 0, minuteUsedOrBanMs = 0, minuteLeftOrIsNew = 0, dayUsed = 0] =
    await script.run(keysOf(caller), [caller.rev, limits.minute, limits.day, policyArgument(policy)]);
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
