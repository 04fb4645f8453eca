import { banPolicySetting } from './ban-policy.ts';
import { anonymousSetting } from './plan-settings.ts';
import { usageSetting } from './usage-policy.ts';

/** All settings but the plans, in the order of a file of plans. The live value of `anonymous` is that of a plan. */
export const wholeSettings = [anonymousSetting, banPolicySetting, usageSetting] as const;

export type WholeSettingName = (typeof wholeSettings)[number]['name'];
