import { z } from 'zod';
import { describeIssues } from '../config/describe-issues.ts';
import type { InvalidValues } from '../observability/invalid-values.ts';
import { readEnforcedSettings, textFields, type SettingsByKey } from '../redis/enforced-settings.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';

/** When and for how long an API key is banned for going on after 429 (specification section 8.4). */
export interface BanPolicy {
  enabled: boolean;
  /** Violations that lead to a ban. At most one is counted a second. */
  violations: number;
  /** Time within which the violations lead to a ban. */
  windowSeconds: number;
  /** Length of the first ban; each further one is twice as long. */
  banSeconds: number;
  /** Length of the longest ban. */
  maxBanSeconds: number;
  /** Time after the end of a ban after which the next one is a first one again. */
  resetSeconds: number;
}

/** A client that backs off exponentially from 1 s makes at most 7 violations in 60 s, so it is never banned. */
export const defaultBanPolicy: Readonly<BanPolicy> = {
  enabled: true,
  violations: 10,
  windowSeconds: 60,
  banSeconds: 60,
  maxBanSeconds: 3600,
  resetSeconds: 86_400,
};

const wholeNumber = (max: number) =>
  z
    .string({ error: 'is missing' })
    .refine((text) => /^[1-9]\d{0,8}$/.test(text) && Number(text) <= max, {
      error: `is not a whole number from 1 to ${max}`,
      abort: true,
    })
    .transform(Number);

const monthSeconds = 30 * 86_400;

export const banPolicySchema = z
  .object({
    enabled: z
      .enum(['true', 'false'], { error: 'is neither true nor false' })
      .transform((text) => text === 'true'),
    violations: wholeNumber(1000),
    windowSeconds: wholeNumber(3600),
    banSeconds: wholeNumber(monthSeconds),
    maxBanSeconds: wholeNumber(monthSeconds),
    resetSeconds: wholeNumber(monthSeconds),
  })
  .refine((policy) => policy.maxBanSeconds >= policy.banSeconds, {
    path: ['maxBanSeconds'],
    error: 'is less than banSeconds',
  })
  .refine((policy) => policy.violations <= policy.windowSeconds, {
    path: ['violations'],
    error: 'is more than windowSeconds, and at most one violation is counted a second',
  });

/** Formats the policy for consume.lua: five numbers, of which the first is 0 for no bans. */
export function formatScriptArgument(policy: BanPolicy): string {
  const { enabled, violations, windowSeconds, banSeconds, maxBanSeconds, resetSeconds } = policy;
  const lengths = [windowSeconds, banSeconds, maxBanSeconds, resetSeconds];
  return [enabled ? violations : 0, ...lengths.map((seconds) => seconds * 1000)].join(' ');
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
