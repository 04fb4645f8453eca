import { z } from 'zod';
import { describeIssues } from '../config/describe-issues.ts';
import type { InvalidValues } from '../observability/invalid-values.ts';
import { readEnforcedSettings, textFields, type SettingsByKey } from '../redis/enforced-settings.ts';
import type { RecordChange } from '../redis/record-change.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';

/**
 * When and for how long an API key is banned for going on after 429 (specification section 8.4). A strike is a refused
 * request that arrives more than the grace period after the first refusal since the key's last allowed request.
 */
export interface BanPolicy {
  enabled: boolean;
  /** Time after the first refusal in which clients may notice it. */
  graceSeconds: number;
  /** Strikes that lead to a ban. */
  strikes: number;
  /** Strikes for each request of the key's minute limit that lead to a ban, if that is more than `strikes`. */
  strikesPerLimit: number;
  /** Time within which the strikes lead to a ban: a fixed window that the first strike opens. */
  windowSeconds: number;
  /** Length of the first ban; one that follows a ban during which the key went on is twice as long as that. */
  banSeconds: number;
  /** Length of the longest ban. */
  maxBanSeconds: number;
  /** Time after the end of a ban after which the next one is a first one again. */
  resetSeconds: number;
}

/** No client that waits for Retry-After or backs off is banned, even if 16 of them share a key. */
export const defaultBanPolicy: Readonly<BanPolicy> = {
  enabled: true,
  graceSeconds: 10,
  strikes: 60,
  strikesPerLimit: 1,
  windowSeconds: 60,
  banSeconds: 60,
  maxBanSeconds: 3600,
  resetSeconds: 86_400,
};

/** @returns the strikes that lead to a ban of a key with this minute limit */
export function strikesToBan({ strikes, strikesPerLimit }: BanPolicy, minuteLimit: number): number {
  return Math.max(strikes, Math.ceil(minuteLimit * strikesPerLimit));
}

const monthSeconds = 30 * 86_400;

/** Smallest and largest value of each number of the policy. */
export const banPolicyBounds = {
  graceSeconds: { min: 0, max: 3600 },
  strikes: { min: 1, max: 1_000_000 },
  strikesPerLimit: { min: 0, max: 1000 },
  windowSeconds: { min: 1, max: 3600 },
  banSeconds: { min: 1, max: monthSeconds },
  maxBanSeconds: { min: 1, max: monthSeconds },
  resetSeconds: { min: 1, max: monthSeconds },
} as const satisfies Record<Exclude<keyof BanPolicy, 'enabled'>, { min: number; max: number }>;

const wholeNumber = ({ min, max }: { min: number; max: number }) =>
  z
    .string({ error: 'is missing' })
    .refine((text) => /^(0|[1-9]\d{0,8})$/.test(text) && Number(text) >= min && Number(text) <= max, {
      error: `is not a whole number from ${min} to ${max}`,
      abort: true,
    })
    .transform(Number);

/** @param text of a number from 0 on. Lua and JavaScript calculate exactly enough with three decimals. */
export function isStrikesPerLimit(text: string): boolean {
  return /^\d{1,4}(\.\d{1,3})?$/.test(text) && Number(text) <= banPolicyBounds.strikesPerLimit.max;
}

const enabled = z
  .enum(['true', 'false'], { error: 'is neither true nor false' })
  .transform((text) => text === 'true');

/** Lengths of bans, which the first policy had as well. */
const lengths = {
  banSeconds: wholeNumber(banPolicyBounds.banSeconds),
  maxBanSeconds: wholeNumber(banPolicyBounds.maxBanSeconds),
  resetSeconds: wholeNumber(banPolicyBounds.resetSeconds),
};

const maxIsLongest = (policy: { banSeconds: number; maxBanSeconds: number }) =>
  policy.maxBanSeconds >= policy.banSeconds;
const notLongest = { path: ['maxBanSeconds'], error: 'is less than banSeconds' };

export const banPolicySchema = z
  .object({
    enabled,
    graceSeconds: wholeNumber(banPolicyBounds.graceSeconds),
    strikes: wholeNumber(banPolicyBounds.strikes),
    strikesPerLimit: z
      .string({ error: 'is missing' })
      .refine(isStrikesPerLimit, { error: 'is not a number from 0 to 1000 with up to three decimals' })
      .transform(Number),
    windowSeconds: wholeNumber(banPolicyBounds.windowSeconds),
    ...lengths,
    violations: z
      .undefined({
        error: 'belongs to the first ban policy: delete it, or the fields that only the present one has',
      })
      .optional(),
  })
  .refine(maxIsLongest, notLongest)
  .transform(({ violations: _absent, ...policy }): BanPolicy => policy);

/** The ban policy of earlier versions, in which the seconds with a refused request led to a ban. */
const firstPolicySchema = z
  .object({
    enabled,
    ...lengths,
    violations: wholeNumber({ min: 1, max: 1000 }),
    windowSeconds: wholeNumber(banPolicyBounds.windowSeconds),
    graceSeconds: z.undefined().optional(),
    strikes: z.undefined().optional(),
    strikesPerLimit: z.undefined().optional(),
  })
  .refine(maxIsLongest, notLongest);

/**
 * Replaces a policy of earlier versions. What it bans for cannot be translated, so only `enabled` and the lengths of bans
 * are kept. Anything else than a valid first policy is left alone.
 * @param recordChange called once with the policy before and after, by the process that has converted it
 */
export async function convertFirstBanPolicy(redis: RedisClient, recordChange: RecordChange): Promise<void> {
  const before = await redis.hgetall(redisKeys.banPolicy).catch((error: unknown) => {
    if (isWrongType(error)) return {};
    throw error;
  });
  const parsed = firstPolicySchema.safeParse(before);
  if (!parsed.success) return;
  const { enabled, banSeconds, maxBanSeconds, resetSeconds } = parsed.data;
  const after: BanPolicy = { ...defaultBanPolicy, enabled, banSeconds, maxBanSeconds, resetSeconds };
  const expected = Object.entries(before);
  const args = [
    expected.length,
    ...expected.flat(),
    ...Object.entries(textFields(after)).flat(),
    'violations',
    '',
  ];
  // Not if it was changed in between, such as by another process that converts it.
  if ((await redis.setFields(redisKeys.banPolicy, ...args)) !== 1) return;
  await recordChange({ action: 'policy.convert', target: redisKeys.banPolicy, before, after });
}

/** Formats the policy for consume.lua: seven numbers, of which the first is 0 for no bans. */
export function formatScriptArgument(policy: BanPolicy): string {
  const { enabled, strikes, strikesPerLimit } = policy;
  const { graceSeconds, windowSeconds, banSeconds, maxBanSeconds, resetSeconds } = policy;
  const lengths = [graceSeconds, windowSeconds, banSeconds, maxBanSeconds, resetSeconds];
  return [enabled ? strikes : 0, strikesPerLimit, ...lengths.map((seconds) => seconds * 1000)].join(' ');
}

export interface LiveBanPolicy {
  current(): BanPolicy;
  /** The policy as consume.lua expects it. Made when the policy is read, and not for each request. */
  scriptArgument(): string;
  /**
   * Reads the policy again. Never rejects: an unreadable or invalid policy leaves the last valid one, or that of another
   * gateway.
   */
  refresh(): Promise<void>;
  /** The policy in force by its Redis key: the last valid one, or the default if there was none yet. */
  enforced(): { known: SettingsByKey; defaults: SettingsByKey };
}

interface LiveBanPolicyDependencies {
  redis: RedisClient;
  invalidValues: InvalidValues;
}

export function createLiveBanPolicy({ redis, invalidValues }: LiveBanPolicyDependencies): LiveBanPolicy {
  let current: BanPolicy = defaultBanPolicy;
  let argument = formatScriptArgument(current);
  /** Whether the policy comes from Redis or another gateway. */
  let known = false;

  function use(policy: BanPolicy): void {
    current = policy;
    argument = formatScriptArgument(policy);
    known = true;
  }

  /** Takes over what another gateway enforces. Never rejects. */
  async function takeOver(): Promise<void> {
    const others = await readEnforcedSettings(redis).catch(() => []);
    for (const settings of others) {
      const parsed = banPolicySchema.safeParse(settings.known[redisKeys.banPolicy]);
      if (parsed.success) return use(parsed.data);
    }
  }

  function report(issues: string[]): void {
    const source = known ? 'last_valid' : 'default';
    invalidValues.report(redisKeys.banPolicy, issues, { enforced: current, source });
  }

  return {
    current: () => current,
    scriptArgument: () => argument,
    async refresh() {
      if (!known) await takeOver();
      let fields: Record<string, string>;
      try {
        fields = await redis.hgetall(redisKeys.banPolicy);
      } catch (error) {
        if (isWrongType(error)) report(['is not a hash']);
        return;
      }
      const parsed = banPolicySchema.safeParse(fields);
      if (parsed.success) use(parsed.data);
      report(parsed.success ? [] : describeIssues(parsed.error));
    },
    enforced() {
      const settings = { [redisKeys.banPolicy]: textFields(current) };
      return known ? { known: settings, defaults: {} } : { known: {}, defaults: settings };
    },
  };
}
