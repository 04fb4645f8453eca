import { anyRev } from '../api-keys/api-key-cache.ts';
import { apiKeyState } from '../api-keys/api-key-record.ts';
import { parseLimit, type Limits } from '../plans/limits.ts';
import { readUsage } from '../quota/usage.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { createApiKeyIndex } from './api-key-index.ts';
import type { Session } from './session.ts';

/** Keys of a plan, and the effect that other limits of it would have now. */
export interface PlanImpact {
  /** Valid keys on the plan. */
  keys: number;
  /** Keys that have used up the new minute limit. */
  overMinute: number;
  overDay: number;
  /** Keys that have used up at least one of them: their next request would be refused. */
  over: number;
}

export const noImpact: Readonly<PlanImpact> = { keys: 0, overMinute: 0, overDay: 0, over: 0 };

/** A valid key, as far as it matters here. */
interface PlanKey {
  keyHash: string;
  plan: string;
  /** Limits of its own, which do not change with the plan. */
  minute: number | undefined;
  day: number | undefined;
}

const pageSize = 500;

/** readUsage needs the lengths of bans, which do not matter here. */
const anyBanPolicy = { windowSeconds: 1, maxBanSeconds: 1 };

/**
 * Counts the valid keys of all plans in one pass over the index, page by page. A record that was edited into something
 * invalid counts as well, if it names a plan. Changes nothing.
 * @param limits new limits by plan; the usage of keys on other plans is not read
 * @returns plans with at least one key
 */
export async function planImpacts(
  { redis, now }: Pick<Session, 'redis' | 'now'>,
  limits: ReadonlyMap<string, Limits> = new Map(),
): Promise<ReadonlyMap<string, Readonly<PlanImpact>>> {
  const impacts = new Map<string, PlanImpact>();
  for await (const page of createApiKeyIndex({ redis, now }).pages(undefined, pageSize)) {
    const keyHashes = page.flatMap(({ keyHash }) => keyHash ?? []);
    const found = await Promise.all(keyHashes.map((keyHash) => readPlanKey(redis, keyHash, now())));
    const keys = found.filter((key) => key !== undefined);
    const overs = await Promise.all(keys.map((key) => usedUp(redis, key, limits.get(key.plan))));
    for (const [index, { plan }] of keys.entries()) {
      const impact = impacts.get(plan) ?? { ...noImpact };
      const { minute = false, day = false } = overs[index] ?? {};
      impact.keys += 1;
      if (minute) impact.overMinute += 1;
      if (day) impact.overDay += 1;
      if (minute || day) impact.over += 1;
      impacts.set(plan, impact);
    }
  }
  return impacts;
}

/** @returns undefined if it is not valid, or its record is gone */
async function readPlanKey(redis: RedisClient, keyHash: string, nowMs: number): Promise<PlanKey | undefined> {
  const fields = ['plan', 'minute', 'day', 'revokedAt', 'expiresAt'];
  const texts = await redis.hmget(redisKeys.apiKey(keyHash), ...fields).catch((error: unknown) => {
    if (isWrongType(error)) return [];
    throw error;
  });
  const [plan, minute, day, revokedAt, expiresAt] = texts.map((text) => text ?? undefined);
  if (plan === undefined || apiKeyState({ revokedAt, expiresAt }, nowMs) !== 'valid') return undefined;
  return { keyHash, plan, minute: parseLimit(minute), day: parseLimit(day) };
}

/** Which of the plan's limits the key has used up. */
async function usedUp(
  redis: RedisClient,
  { keyHash, minute, day }: PlanKey,
  limits: Limits | undefined,
): Promise<{ minute?: boolean; day?: boolean }> {
  if (limits === undefined || (minute !== undefined && day !== undefined)) return {};
  const usage = await readUsage(redis, { keyHash, rev: anyRev, limits, banPolicy: anyBanPolicy });
  return {
    minute: minute === undefined && usage?.minute.remaining === 0,
    day: day === undefined && usage?.day.remaining === 0,
  };
}
