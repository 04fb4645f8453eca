import { expect, test } from 'vitest';
import { defaultBanPolicy, formatPolicies } from '../../../../gateway/quota/ban-policy.ts';
import { createPolicyArgument } from '../../../../gateway/quota/policy-argument.ts';

test('the argument has both policies as they are now, and is formatted once while they stay', () => {
  const current = { bans: { ...defaultBanPolicy }, usage: { retentionDays: 30 } };
  const argument = createPolicyArgument({
    banPolicy: { current: () => current.bans },
    usagePolicy: { current: () => current.usage },
  });
  expect(argument()).toBe(formatPolicies(defaultBanPolicy, 30));
  current.usage = { retentionDays: 31 };
  expect(argument()).toBe(formatPolicies(defaultBanPolicy, 31));
  current.bans = { ...defaultBanPolicy, strikes: 7 };
  expect(argument()).toBe(formatPolicies(current.bans, 31));
  // Changed in place, which no reader of a setting does: it was not formatted again.
  current.bans.strikes = 8;
  expect(argument()).toContain('strikes=7');
});
