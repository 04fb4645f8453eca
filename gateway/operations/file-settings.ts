import { forAll } from '../limits/windows.ts';
import { anonymousPlan } from '../plans/plans.ts';
import type { AuditAction } from '../redis/audit-actions.ts';
import { textFields } from '../redis/enforced-settings.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import type { PlansFile } from './plans-file-schema.ts';
import { readSettings } from './settings-hash.ts';

/** Fields of a hash of settings, as text. */
export type Fields = Record<string, string>;

/** A hash of settings that a file of plans describes. */
export interface FileSetting {
  /** Name in the file, such as plans.pro. */
  name: string;
  /** Redis key of the hash. */
  key: string;
  /** The plan, if API keys may be on it. */
  plan?: string;
  /** Action and target in the audit log. */
  action: AuditAction;
  target: string;
}

export const planInFile = (plan: string): FileSetting => ({
  name: `plans.${plan}`,
  key: redisKeys.plan(plan),
  plan,
  action: 'plans.set',
  target: plan,
});

export const anonymousInFile: FileSetting = {
  name: 'anonymous',
  key: redisKeys.plan(anonymousPlan),
  action: 'plans.set',
  target: anonymousPlan,
};

export const banPolicyInFile: FileSetting = {
  name: 'banPolicy',
  key: redisKeys.banPolicy,
  action: 'policy.set',
  target: redisKeys.banPolicy,
};

export const usageInFile: FileSetting = {
  name: 'usage',
  key: redisKeys.usagePolicy,
  action: 'usage.retention',
  target: redisKeys.usagePolicy,
};

/** A setting and what the file wants it to be; an empty text removes a field. */
export type WantedSetting = FileSetting & { wanted: Fields };

/** Settings of a file, in its order. */
export function settingsOf({ plans = {}, anonymous, banPolicy, usage }: PlansFile): WantedSetting[] {
  const sections: [FileSetting, object | undefined][] = [
    ...Object.entries(plans).map(([plan, limits]): [FileSetting, object] => [
      planInFile(plan),
      // A plan has no other limits than those of the file.
      forAll((window) => limits[window] ?? ''),
    ]),
    [anonymousInFile, anonymous],
    [banPolicyInFile, banPolicy],
    [usageInFile, usage],
  ];
  return sections.flatMap(([setting, values]) =>
    values === undefined ? [] : [{ ...setting, wanted: textFields(values) }],
  );
}

/** Reads the hashes of settings. @throws InvalidOperation if one of them is no hash */
export async function readStored(
  redis: RedisClient,
  settings: readonly FileSetting[],
): Promise<Map<string, Fields>> {
  const hashes = await Promise.all(settings.map(({ key }) => readSettings(redis, key)));
  return new Map(settings.map(({ key }, index) => [key, hashes[index] ?? {}]));
}
