import { anyRev } from '../api-keys/api-key-cache.ts';
import { apiKeyState, type ApiKeyRecord } from '../api-keys/api-key-record.ts';
import type { Session } from '../ops/redis-connection.ts';
import { maxLimit, parseLimit } from '../plans/limits.ts';
import { defaultBanPolicy, type BanPolicy } from '../quota/ban-policy.ts';
import { readUsage, type UsedWindow } from '../quota/usage.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { createApiKeyStore } from './api-key-store.ts';
import { createBanPolicyStore } from './ban-policy-store.ts';
import { createBanStore } from './ban-store.ts';
import { unlessRefused } from './invalid-operation.ts';
import { readPlanLimits } from './plan-store.ts';

/** What operators see of a key's use. */
export interface KeyUsage {
  id: string;
  name: string;
  plan: string;
  state: string;
  minute: ShownWindow;
  day: ShownWindow;
  /** Refused requests that count towards a ban now. */
  violations: number;
  ban: { reason: string; endsAt: string } | null;
}

interface ShownWindow {
  used: number;
  /** Null where it was edited into something unusable. */
  limit: number | null;
  remaining: number | null;
  /** ISO 8601 in UTC. */
  resetsAt: string;
}

export interface UsageReader {
  /** Undefined where it was edited into something unusable; gateways then go on with the last good one. */
  policy: BanPolicy | undefined;
  /** @throws StoreRefusal where there is no such key, or its record can't be read */
  read(id: string): Promise<KeyUsage>;
}

/** Reads the use of keys, one by one, with the policy read once. */
export async function createUsageReader(session: Session): Promise<UsageReader> {
  const { redis, now } = session;
  const keys = createApiKeyStore(session);
  const bans = createBanStore({ ...session, keys });
  const policy = await unlessRefused(createBanPolicyStore(session).show());

  return {
    policy,
    async read(id) {
      const { sha, record } = await keys.show(id);
      const limits = await limitsOf(redis, record);
      const [usage, ban] = await Promise.all([
        readUsage(redis, {
          sha,
          rev: anyRev,
          limits: { minute: limits.minute ?? maxLimit, day: limits.day ?? maxLimit },
          banPolicy: policy ?? defaultBanPolicy,
        }),
        bans.find(sha),
      ]);
      if (usage === undefined) throw new Error('read-usage-5.lua compared a rev that it was told not to');
      const { minute, day, violations, nowMs } = usage;
      const state = apiKeyState(record, now());
      return {
        id,
        name: record.name,
        plan: record.plan,
        // Lifting the ban of a key that is revoked would not help it.
        state: state === 'valid' && ban !== undefined ? 'banned' : state,
        minute: shownWindow(minute, limits.minute, nowMs),
        day: shownWindow(day, limits.day, nowMs),
        violations,
        ban: ban ?? null,
      };
    },
  };
}

/** Undefined for a limit that was edited into something unusable; gateways then go on with the last good one. */
async function limitsOf(redis: RedisClient, { plan, minute, day }: ApiKeyRecord) {
  const [minuteText, dayText] = await readPlanLimits(redis, plan);
  return { minute: minute ?? parseLimit(minuteText), day: day ?? parseLimit(dayText) };
}

function shownWindow(
  { used, remaining, resetMs }: UsedWindow,
  limit: number | undefined,
  nowMs: number,
): ShownWindow {
  return {
    used,
    limit: limit ?? null,
    remaining: limit === undefined ? null : remaining,
    resetsAt: new Date(nowMs + resetMs).toISOString(),
  };
}
