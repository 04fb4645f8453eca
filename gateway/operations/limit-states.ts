import { z } from 'zod';
import { limitText, maxLimit } from '../limits/limits.ts';
import { anonymousPlan, builtInLimits } from '../plans/plans.ts';
import {
  defaultUsagePolicy,
  maxRetentionDays,
  usagePolicySchema,
  type UsagePolicy,
} from '../quota/usage-policy.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import type { Session } from './session.ts';
import { readSettingState, type SettingState } from './setting-state.ts';

/** A setting that is one number. */
export interface NumberState<T> extends SettingState<T> {
  defaults: T;
  bounds: { min: number; max: number };
}

/** The limit of an address for requests without a valid key. */
export async function readAnonymousState(session: Session): Promise<NumberState<{ minute: number }>> {
  const schema = z.object({ minute: limitText });
  const state = await readSettingState(session, redisKeys.plan(anonymousPlan), schema);
  const minute = builtInLimits[anonymousPlan]?.minute ?? 1;
  return { ...state, defaults: { minute }, bounds: { min: 1, max: maxLimit } };
}

/** How long the use of keys is kept. */
export async function readRetentionState(session: Session): Promise<NumberState<UsagePolicy>> {
  const state = await readSettingState(session, redisKeys.usagePolicy, usagePolicySchema);
  return { ...state, defaults: defaultUsagePolicy, bounds: { min: 1, max: maxRetentionDays } };
}
