import { maxLimit } from '../limits/limits.ts';
import { anonymousPlan, builtInLimits } from '../plans/plans.ts';
import { banPolicyBounds, banPolicySetting, type BanPolicy } from '../quota/ban-policy.ts';
import { maxRetentionDays, usageSetting, type UsagePolicy } from '../quota/usage-policy.ts';
import { fieldsOf } from '../redis/define-setting.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { anonymousFileSchema } from './plans-file-schema.ts';
import type { Session } from './session.ts';
import { readSettingState, type SettingState } from './setting-state.ts';

/** A setting with the smallest and largest value of its number, or of each of them. */
type BoundedState<T, Bounds> = SettingState<T> & { bounds: Bounds };

/** A setting that is one number. */
export type NumberState<T> = BoundedState<T, { min: number; max: number }>;
export type BanPolicyState = BoundedState<BanPolicy, typeof banPolicyBounds>;

/** The limit of an address for requests without a valid key. */
export async function readAnonymousState(session: Session): Promise<NumberState<{ minute: number }>> {
  const setting = {
    key: redisKeys.plan(anonymousPlan),
    fields: fieldsOf(anonymousFileSchema),
    defaults: { minute: builtInLimits[anonymousPlan]?.minute ?? 1 },
  };
  return { ...(await readSettingState(session, setting)), bounds: { min: 1, max: maxLimit } };
}

/** How long the use of keys is kept. */
export async function readRetentionState(session: Session): Promise<NumberState<UsagePolicy>> {
  return { ...(await readSettingState(session, usageSetting)), bounds: { min: 1, max: maxRetentionDays } };
}

export async function readBanPolicyState(session: Session): Promise<BanPolicyState> {
  return { ...(await readSettingState(session, banPolicySetting)), bounds: banPolicyBounds };
}
