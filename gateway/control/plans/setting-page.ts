import { planOfKey } from '../../quota/plan-settings.ts';
import { usageSetting } from '../../quota/usage-policy.ts';
import { wholeSettings } from '../../quota/whole-settings.ts';

/** @returns the page of the console on which a setting is changed; undefined for a Redis key that is no setting */
export function settingPage(key: string): { page: string; text: string } | undefined {
  if (key === usageSetting.key) return { page: '/console/settings', text: 'System' };
  if (wholeSettings.some((setting) => setting.key === key))
    return { page: '/console/bans', text: 'Security' };
  const [plan] = planOfKey(key);
  return plan === undefined
    ? undefined
    : { page: `/console/plans/${encodeURIComponent(plan)}`, text: `Plan ${plan}` };
}
