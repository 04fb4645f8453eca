import { setTimeout as sleep } from 'node:timers/promises';
import { defaultPlans } from '../limits/limits.ts';
import { findUnenforced, isInUse, textFields } from '../platform/redis/enforced-settings.ts';
import { createAuditLog } from '../platform/redis/record-change.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import { redisKeys } from '../platform/redis/redis-keys.ts';
import { markSetUp } from '../platform/redis/set-up-marker.ts';
import type { Setting } from '../platform/redis/settings.ts';
import { anonymousSetting, builtInPlans } from './plan-settings.ts';
import { banPolicySetting, usageSetting } from './policies.ts';

/** All settings but the plans, in the order of a file of plans. The live value of `anonymous` is that of a plan. */
export const wholeSettings = [anonymousSetting, banPolicySetting, usageSetting] as const;

export type WholeSettingName = (typeof wholeSettings)[number]['name'];

/** Gateways announce themselves twice a second. */
const otherHeartbeatMs = 750;

/** Each once: `anonymous` is in both lists. */
const settings = [...new Set([...builtInPlans.values(), ...wholeSettings])];

/**
 * Sets up a Redis that no running gateway uses: writes the defaults of settings that were never set and that none enforces
 *, and the marker. Running gateways have seen it, so that it is missing means a loss.
 * @param who name for the audit log
 * @param heartbeatMs 0 for a Redis that no other gateway uses
 * @returns whether it was not set up before
 */
export async function seedDefaults(
  redis: RedisClient,
  who: string,
  heartbeatMs = otherHeartbeatMs,
): Promise<boolean> {
  const written = await seedSettings({ redis, settings, who, heartbeatMs });
  if (written) await redis.sadd(redisKeys.planNames, ...Object.keys(defaultPlans));
  return !(await isInUse(redis)) && markSetUp(redis);
}

interface SeedSettingsOptions {
  redis: RedisClient;
  settings: readonly Setting[];
  /** Name for the audit log. */
  who: string;
  /** Time in which gateways that run would announce themselves again, if Redis has lost everything. */
  heartbeatMs: number;
}

/**
 * Writes defaults of settings that were never set and that no running gateway enforces: running gateways still enforce a lost
 * value, and must not get another one.
 * @returns whether there were any
 */
export async function seedSettings(options: SeedSettingsOptions): Promise<boolean> {
  const { redis, settings, who, heartbeatMs } = options;
  const audit = createAuditLog({ redis, who });
  if ((await findMissing(redis, settings)).length === 0) return false;
  await sleep(heartbeatMs);
  const missing = await findMissing(redis, settings);
  for (const { key, defaults, seedAction, target } of missing) {
    const fields = textFields(defaults);
    // Only if the hash is still empty: another gateway or an operator may have set it in between.
    await audit.make([{ action: seedAction, target, before: null, after: fields }], {
      script: 'setFieldsAudited',
      keys: [key],
      args: [0, ...Object.entries(fields).flat()],
    });
    // Last, so that an interrupted start is made up for by the next one.
    await redis.sadd(redisKeys.settings, key);
  }
  return missing.length > 0;
}

/** Settings whose defaults have to be written. */
async function findMissing(redis: RedisClient, settings: readonly Setting[]): Promise<Setting[]> {
  const neverSet = await findNeverSet(redis, settings);
  if (neverSet.length === 0) return [];
  const unenforced = await findUnenforced(
    redis,
    neverSet.map(({ key }) => key),
  );
  return neverSet.filter(({ key }) => unenforced.includes(key));
}

/** Settings that do not exist and never did. Remembers those that exist. */
async function findNeverSet(redis: RedisClient, settings: readonly Setting[]): Promise<Setting[]> {
  const onceSet = new Set(await redis.smembers(redisKeys.settings));
  const unknown = settings.filter(({ key }) => !onceSet.has(key));
  const exist = await Promise.all(unknown.map(({ key }) => redis.exists(key)));
  const present = unknown.filter((_setting, index) => exist[index] === 1).map(({ key }) => key);
  if (present.length > 0) await redis.sadd(redisKeys.settings, ...present);
  return unknown.filter((_setting, index) => exist[index] !== 1);
}
