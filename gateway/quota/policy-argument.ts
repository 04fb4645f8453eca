import { formatPolicies, type LiveBanPolicy } from './ban-policy.ts';
import type { LiveUsagePolicy } from './usage-policy.ts';

interface PolicyArgumentDependencies {
  banPolicy: Pick<LiveBanPolicy, 'current'>;
  usagePolicy: Pick<LiveUsagePolicy, 'current'>;
}

/** @returns a function that gives both policies as consume.lua expects them, formatted once and not for each request */
export function createPolicyArgument({ banPolicy, usagePolicy }: PolicyArgumentDependencies): () => string {
  let bans = banPolicy.current();
  let usage = usagePolicy.current();
  let argument = formatPolicies(bans, usage.retentionDays);
  return () => {
    if (bans !== banPolicy.current() || usage !== usagePolicy.current()) {
      bans = banPolicy.current();
      usage = usagePolicy.current();
      argument = formatPolicies(bans, usage.retentionDays);
    }
    return argument;
  };
}
