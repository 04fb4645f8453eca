import { planOfKey } from '../plans/plan-settings.ts';
import { wholeSettings } from '../quota/whole-settings.ts';
import { redisKeys } from '../redis/redis-keys.ts';

/** @returns the page of the console on which a setting is changed; undefined for a Redis key that is no setting */
export function settingPage(key: string): { page: string; text: string } | undefined {
  if (wholeSettings.some((setting) => setting.key === key))
    return { page: '/console/settings', text: 'Settings' };
  if (key === redisKeys.addressBlocks) return { page: '/console/addresses', text: 'Addresses' };
  const [plan] = planOfKey(key);
  return plan === undefined
    ? undefined
    : { page: `/console/plans/${encodeURIComponent(plan)}`, text: `Plan ${plan}` };
}
