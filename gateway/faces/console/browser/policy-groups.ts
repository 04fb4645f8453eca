import {
  anonymousField,
  byPolicyField,
  retentionField,
  strikesToBan,
  type BanPolicyField,
  type NumberField,
} from '../../../limits/setting-fields.ts';
import { formatDuration, formatNumber, plural } from '../../browser/format.ts';
import type { BanPolicy, KeyPlan, Policy } from './responses.ts';

interface NamedField extends NumberField {
  name: BanPolicyField | 'anonymousMinute' | 'retentionDays';
}

type LimitedPlan = Pick<KeyPlan, 'name' | 'minute'>;

/** Values of the policy that are shown and changed together. */
export interface PolicyGroup {
  heading: string;
  fields: readonly NamedField[];
  /** What the box says that switches them on; undefined if they are always on. */
  switched?: string;
  /** What gateways do that enforce the values, in sentences. */
  effect(values: Policy, plans: readonly LimitedPlan[]): string[];
}

export const banPolicyGroup: PolicyGroup = {
  heading: 'Ban policy',
  fields: Object.values(byPolicyField((field, name): NamedField => ({ name, ...field }))),
  switched: 'Ban keys that go on after 429',
  effect: policySentences,
};

export const addressGroup: PolicyGroup = {
  heading: 'Requests without a valid key',
  fields: [{ name: 'anonymousMinute', ...anonymousField }],
  effect: ({ anonymousMinute }) => [
    `Each address may send ${plural(anonymousMinute, 'request')} a minute without a valid key, such as with a mistyped one; further ones get 429. Requests with a valid key are not affected.`,
  ],
};

export const retentionGroup: PolicyGroup = {
  heading: 'Record of use',
  fields: [{ name: 'retentionDays', ...retentionField }],
  effect: ({ retentionDays }) => [
    `The use of each customer is kept for ${plural(retentionDays, 'day')}. What is older is no longer shown.`,
  ],
};

/** What a valid ban policy does. */
export function policySentences(policy: BanPolicy, plans: readonly LimitedPlan[]): string[] {
  const { enabled, graceSeconds, windowSeconds, resetSeconds, banSeconds, maxBanSeconds } = policy;
  if (!enabled)
    return ['No key is banned for going on after 429. Bans that are active now end at their time.'];
  const byPlan = plans.flatMap(({ name, minute }) =>
    minute === null ? [] : [`${name} ${formatNumber(strikesToBan(policy, minute))}`],
  );
  return [
    `A key is banned after this many refused requests within ${formatDuration(windowSeconds)}, not counting the first ${formatDuration(graceSeconds)} over a limit: ${byPlan.join(', ')}.`,
    `A ban lasts ${formatDuration(banSeconds)}, and twice as long as the one before if the key goes on, up to ${formatDuration(maxBanSeconds)}. After ${formatDuration(resetSeconds)} without a ban, the next one has the first length again.`,
  ];
}
