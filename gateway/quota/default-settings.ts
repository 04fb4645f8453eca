import { setTimeout as sleep } from 'node:timers/promises';
import { defaultPlans } from '../limits/limits.ts';
import { readEnforcedSettings } from '../platform/redis/process-statuses.ts';
import { createAuditLog } from '../platform/redis/record-change.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import { redisKeys } from '../platform/redis/redis-keys.ts';
import { markSetUp } from '../platform/redis/set-up-marker.ts';
import { textFields, type Setting } from '../platform/redis/settings.ts';
import { anonymousSetting, builtInPlans } from './plan-settings.ts';
import { banPolicySetting, usageSetting } from './policies.ts';

/** All settings but the plans, in the order of a file of plans. The live value of `anonymous` is that of a plan. */
export const wholeSettings = [anonymousSetting, banPolicySetting, usageSetting] as const;

export type WholeSettingName = (typeof wholeSettings)[number]['name'];

/** Each once: `anonymous` is in both lists. */
const settings = [...new Set([...builtInPlans.values(), ...wholeSettings])];

/** Time in which gateways that run announce themselves again, if Redis has lost everything: they do so twice a second. */
const otherHeartbeatMs = 750;

/**
 * Sets up a Redis that no running gateway uses: writes the defaults of settings and the marker. Running gateways have seen it, so
 * that it is missing means a loss.
 * @param who name for the audit log
 * @param heartbeatMs 0 for a Redis that no other gateway uses
 * @returns whether it was not set up before
 */
export async function seedDefaults(
  redis: RedisClient,
  who: string,
  heartbeatMs = otherHeartbeatMs,
): Promise<boolean> {
  if ((await findMissing(redis)).length > 0) {
    await sleep(heartbeatMs);
    if (await writeDefaults(redis, who)) await redis.sadd(redisKeys.planNames, ...Object.keys(defaultPlans));
  }
  return (await readEnforcedSettings(redis)).length === 0 && markSetUp(redis);
}

/** Writes the defaults that are missing. @returns whether there were any */
async function writeDefaults(redis: RedisClient, who: string): Promise<boolean> {
  const audit = createAuditLog({ redis, who });
  const missing = await findMissing(redis);
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

/**
 * Settings whose defaults have to be written: those that were never set and that no running gateway enforces. Running gateways still
 * enforce a lost value, and must not get another one.
 */
async function findMissing(redis: RedisClient): Promise<Setting[]> {
  const neverSet = await findNeverSet(redis);
  if (neverSet.length === 0) return [];
  const running = await readEnforcedSettings(redis);
  return neverSet.filter(({ key }) =>
    running.every(({ known, defaults }) => !(key in known) && !(key in defaults)),
  );
}

/** Settings that do not exist and never did. Remembers those that exist. */
async function findNeverSet(redis: RedisClient): Promise<Setting[]> {
  const onceSet = new Set(await redis.smembers(redisKeys.settings));
  const unknown = settings.filter(({ key }) => !onceSet.has(key));
  const exist = await Promise.all(unknown.map(({ key }) => redis.exists(key)));
  const present = unknown.filter((_setting, index) => exist[index] === 1).map(({ key }) => key);
  if (present.length > 0) await redis.sadd(redisKeys.settings, ...present);
  return unknown.filter((_setting, index) => exist[index] !== 1);
}
