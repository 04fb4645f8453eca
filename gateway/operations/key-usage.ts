import { anyRev } from '../api-keys/api-key-cache.ts';
import { apiKeyState, type ApiKeyRecord } from '../api-keys/api-key-record.ts';
import { maxLimit, parseLimit } from '../plans/limits.ts';
import { defaultBanPolicy, strikesToBan, type BanPolicy } from '../quota/ban-policy.ts';
import { readUsage, type UsedWindow } from '../quota/usage.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { createApiKeyStore } from './api-key-store.ts';
import { createBanPolicyStore } from './ban-policy-store.ts';
import { createBanStore } from './ban-store.ts';
import { ignoreInvalid } from './invalid-operation.ts';
import { readPlanLimits } from './plan-store.ts';
import type { Session } from './session.ts';

/** Usage of a key as operators see it. */
export interface KeyUsage {
  id: string;
  name: string;
  plan: string;
  state: string;
  minute: WindowView;
  day: WindowView;
  /** Refused requests that count towards a ban now. */
  strikes: number;
  /** Strikes that lead to a ban; null if the ban policy or the minute limit is invalid. */
  strikesToBan: number | null;
  /** The same as `strikes`, under its name in earlier versions. */
  violations: number;
  ban: { reason: string; endsAt: string } | null;
}

/** Use of one window. */
export interface WindowView {
  used: number;
  /** Null if it is invalid. */
  limit: number | null;
  remaining: number | null;
  /** ISO 8601 in UTC. */
  resetsAt: string;
}

export interface UsageReader {
  /** Undefined if it is invalid; gateways then use their last valid one. */
  policy: BanPolicy | undefined;
  /** @throws InvalidOperation if there is no such key, or its record is invalid */
  read(id: string): Promise<KeyUsage>;
}

/** Creates a reader that reads the ban policy once for all keys. */
export async function createUsageReader(session: Session): Promise<UsageReader> {
  const { redis, now } = session;
  const keys = createApiKeyStore(session);
  const bans = createBanStore({ ...session, keys });
  const policy = await ignoreInvalid(createBanPolicyStore(session).show());

  return {
    policy,
    async read(id) {
      const { keyHash, record } = await keys.show(id);
      const limits = await readLimits(redis, record);
      const [usage, ban] = await Promise.all([
        readUsage(redis, {
          keyHash,
          rev: anyRev,
          limits: { minute: limits.minute ?? maxLimit, day: limits.day ?? maxLimit },
          banPolicy: policy ?? defaultBanPolicy,
        }),
        bans.find(keyHash),
      ]);
      if (usage === undefined) throw new Error('read-usage-5.lua compared a rev despite anyRev');
      const { minute, day, strikes, nowMs } = usage;
      const state = apiKeyState(record, now());
      return {
        id,
        name: record.name,
        plan: record.plan,
        // A revoked key would not work without its ban either.
        state: state === 'valid' && ban !== undefined ? 'banned' : state,
        minute: windowView(minute, limits.minute, nowMs),
        day: windowView(day, limits.day, nowMs),
        strikes,
        strikesToBan:
          policy === undefined || limits.minute === undefined ? null : strikesToBan(policy, limits.minute),
        violations: strikes,
        ban: ban ?? null,
      };
    },
  };
}

/** Undefined for an invalid limit; gateways then use their last valid one. */
async function readLimits(redis: RedisClient, { plan, minute, day }: ApiKeyRecord) {
  const [minuteText, dayText] = await readPlanLimits(redis, plan);
  return { minute: minute ?? parseLimit(minuteText), day: day ?? parseLimit(dayText) };
}

/** @param limit undefined for an invalid one */
export function windowView(
  { used, remaining, resetMs }: UsedWindow,
  limit: number | undefined,
  nowMs: number,
): WindowView {
  return {
    used,
    limit: limit ?? null,
    remaining: limit === undefined ? null : remaining,
    resetsAt: new Date(nowMs + resetMs).toISOString(),
  };
}
