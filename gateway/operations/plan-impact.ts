import { anyRev } from '../api-keys/api-key-cache.ts';
import { apiKeyState } from '../api-keys/api-key-record.ts';
import type { Limits } from '../plans/limits.ts';
import { readUsage } from '../quota/usage.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import type { ListedApiKey } from './api-key-store.ts';

/** What other limits of a plan would mean at this moment. */
export interface PlanImpact {
  /** Valid keys on the plan. */
  keys: number;
  /** Of those, keys that have used up the minute limit that they would have. */
  overMinute: number;
  overDay: number;
  /** Keys that have used up one of the two or both: their next request would be refused. */
  over: number;
}

interface PlanImpactOptions {
  redis: RedisClient;
  /** All of them, a page at a time. */
  keys: AsyncIterable<ListedApiKey[]>;
  plan: string;
  limits: Limits;
  nowMs: number;
}

/** The bans of no policy matter here. */
const noBans = { windowSeconds: 1, maxBanSeconds: 1 };

/** Looks at each key of the plan, and changes nothing. A limit of a key's own stays what it is, so it is left out. */
export async function planImpact({
  redis,
  keys,
  plan,
  limits,
  nowMs,
}: PlanImpactOptions): Promise<PlanImpact> {
  const impact: PlanImpact = { keys: 0, overMinute: 0, overDay: 0, over: 0 };
  for await (const page of keys) {
    const affected = page.flatMap((key) =>
      key.outcome === 'record' && key.record.plan === plan && apiKeyState(key.record, nowMs) === 'valid'
        ? [{ sha: key.sha, record: key.record }]
        : [],
    );
    const usages = await Promise.all(
      affected.map(({ sha, record }) => {
        const own = { minute: record.minute ?? limits.minute, day: record.day ?? limits.day };
        return readUsage(redis, { sha, rev: anyRev, limits: own, banPolicy: noBans });
      }),
    );
    impact.keys += affected.length;
    for (const [index, usage] of usages.entries()) {
      // What a key has of its own does not change.
      const own = affected[index]?.record;
      const overMinute = own?.minute === undefined && usage?.minute.remaining === 0;
      const overDay = own?.day === undefined && usage?.day.remaining === 0;
      if (overMinute) impact.overMinute += 1;
      if (overDay) impact.overDay += 1;
      if (overMinute || overDay) impact.over += 1;
    }
  }
  return impact;
}
