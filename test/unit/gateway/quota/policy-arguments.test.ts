import { expect, test } from 'vitest';
import {
  createPolicyArguments,
  defaultBanPolicy,
  formatPolicies,
} from '../../../../gateway/quota/ban-policy.ts';

test('the arguments have both policies as they are now, and are formatted once while they stay', () => {
  const current = { bans: { ...defaultBanPolicy }, usage: { retentionDays: 30 } };
  const argument = createPolicyArguments({
    banPolicy: { current: () => current.bans },
    usagePolicy: { current: () => current.usage },
  });
  expect(argument()).toEqual(formatPolicies(defaultBanPolicy, 30));
  current.usage = { retentionDays: 31 };
  expect(argument()).toEqual(formatPolicies(defaultBanPolicy, 31));
  current.bans = { ...defaultBanPolicy, strikes: 7 };
  expect(argument()).toEqual(formatPolicies(current.bans, 31));
  // Changed in place, which no reader of a setting does: it was not formatted again.
  current.bans.strikes = 8;
  expect(argument()[0]).toBe('7');
});
