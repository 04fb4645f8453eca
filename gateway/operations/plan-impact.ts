import { anyRev } from '../api-keys/api-key-cache.ts';
import { apiKeyState } from '../api-keys/api-key-record.ts';
import type { Limits } from '../plans/limits.ts';
import { readUsage } from '../quota/usage.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import type { ListedApiKey } from './api-key-store.ts';

/** Effect that other limits of a plan would have now. */
export interface PlanImpact {
  /** Valid keys on the plan. */
  keys: number;
  /** Keys that have used up the new minute limit. */
  overMinute: number;
  overDay: number;
  /** Keys that have used up at least one of them: their next request would be refused. */
  over: number;
}

interface PlanImpactOptions {
  redis: RedisClient;
  /** All keys, in pages. */
  keys: AsyncIterable<ListedApiKey[]>;
  plan: string;
  limits: Limits;
  nowMs: number;
}

/** readUsage needs the lengths of bans, which do not matter here. */
const anyBanPolicy = { windowSeconds: 1, maxBanSeconds: 1 };

/** Reads the usage of each key of the plan. Changes nothing. Own limits of a key do not change, so they do not count. */
export async function planImpact(options: PlanImpactOptions): Promise<PlanImpact> {
  const { redis, keys, plan, limits, nowMs } = options;
  const impact: PlanImpact = { keys: 0, overMinute: 0, overDay: 0, over: 0 };
  for await (const page of keys) {
    const affected = page.flatMap((key) =>
      key.outcome === 'record' && key.record.plan === plan && apiKeyState(key.record, nowMs) === 'valid'
        ? [{ keyHash: key.keyHash, record: key.record }]
        : [],
    );
    const usages = await Promise.all(
      affected.map(({ keyHash, record }) => {
        const own = { minute: record.minute ?? limits.minute, day: record.day ?? limits.day };
        return readUsage(redis, { keyHash, rev: anyRev, limits: own, banPolicy: anyBanPolicy });
      }),
    );
    impact.keys += affected.length;
    for (const [index, usage] of usages.entries()) {
      const record = affected[index]?.record;
      const overMinute = record?.minute === undefined && usage?.minute.remaining === 0;
      const overDay = record?.day === undefined && usage?.day.remaining === 0;
      if (overMinute) impact.overMinute += 1;
      if (overDay) impact.overDay += 1;
      if (overMinute || overDay) impact.over += 1;
    }
  }
  return impact;
}
