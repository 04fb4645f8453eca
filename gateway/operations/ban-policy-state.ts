import { banPolicyBounds, banPolicySchema, defaultBanPolicy, type BanPolicy } from '../quota/ban-policy.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import type { Session } from './session.ts';
import { readSettingState, type SettingState } from './setting-state.ts';

/** The ban policy, with its defaults and the smallest and largest value of each number. */
export interface BanPolicyState extends SettingState<BanPolicy> {
  defaults: BanPolicy;
  bounds: typeof banPolicyBounds;
}

export async function readBanPolicyState(session: Session): Promise<BanPolicyState> {
  const state = await readSettingState(session, redisKeys.banPolicy, banPolicySchema);
  return { ...state, defaults: defaultBanPolicy, bounds: banPolicyBounds };
}
