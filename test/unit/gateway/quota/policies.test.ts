import { expect, test } from 'vitest';
import { byPolicyField, strikesToBan } from '../../../../gateway/limits/setting-fields.ts';
import { banPolicySetting, defaultBanPolicy, strikesBeforeBan } from '../../../../gateway/quota/policies.ts';
import { createPolicyArguments, formatPolicies } from '../../../../gateway/quota/redis-quota.ts';

test('a key is banned after the strikes of the policy, or more if its minute limit asks for more', () => {
  const strikes = (minuteLimit: number) =>
    strikesToBan({ ...defaultBanPolicy, strikes: 60, strikesPerLimit: 0.5 }, minuteLimit);
  expect([strikes(1), strikes(120), strikes(121), strikes(1000)]).toEqual([60, 60, 61, 500]);
});

test('by default a key is banned after as many strikes as its minute limit, or 60', () => {
  expect([1, 60, 61, 1000].map((limit) => strikesToBan(defaultBanPolicy, limit))).toEqual([60, 60, 61, 1000]);
});

test('no strikes lead to a ban while bans are off, or without a policy or a minute limit', () => {
  expect(strikesBeforeBan(defaultBanPolicy, 100)).toBe(100);
  expect(strikesBeforeBan({ ...defaultBanPolicy, enabled: false }, 100)).toBeNull();
  expect(strikesBeforeBan(undefined, 100)).toBeNull();
  expect(strikesBeforeBan(defaultBanPolicy, null)).toBeNull();
});

test('the script is told both policies, times in milliseconds', () => {
  const strikes = { strikes: 1, strikesPerLimit: 2.5, graceSeconds: 3, windowSeconds: 4 };
  const policy = { enabled: true, ...strikes, banSeconds: 5, maxBanSeconds: 6, resetSeconds: 7 };
  expect(formatPolicies(policy, 8)).toEqual(['1', '2.5', '3000', '4000', '5000', '6000', '7000', '8']);
  expect(formatPolicies({ ...policy, enabled: false }, 8)[0]).toBe('0');
});

test('each number of the policy has the bounds that are documented, and no further ones', () => {
  expect(byPolicyField(({ min, max }) => ({ min, max }))).toEqual({
    graceSeconds: { min: 0, max: 3600 },
    strikes: { min: 1, max: 1_000_000 },
    strikesPerLimit: { min: 0, max: 1000 },
    windowSeconds: { min: 1, max: 3600 },
    banSeconds: { min: 1, max: 2_592_000 },
    maxBanSeconds: { min: 1, max: 2_592_000 },
    resetSeconds: { min: 1, max: 2_592_000 },
  });
  const accepts = (strikesPerLimit: number) =>
    banPolicySetting.values.safeParse({ ...defaultBanPolicy, strikesPerLimit }).success;
  expect([-0.001, 0, 1000, 1000.001].map(accepts)).toEqual([false, true, true, false]);
});

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
