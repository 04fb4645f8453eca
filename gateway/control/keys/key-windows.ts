import { z } from 'zod';
import { anyRev } from '../../keys/api-key-cache.ts';
import { maxLimit } from '../../limits/limits.ts';
import { windowFields } from '../../limits/window-fields.ts';
import { mapWindows, type ByWindow } from '../../limits/windows.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import type { KeyPlace } from '../../platform/redis/redis-keys.ts';
import { defaultBanPolicy, type BanPolicy } from '../../quota/ban-policy.ts';
import { readUsage } from '../../quota/usage.ts';

/** Use of one window. */
export const windowViewSchema = z
  .object({
    used: z.int(),
    limit: z.int().nullable().describe('Null if it is not known'),
    remaining: z.int().nullable(),
    resetsAt: z.iso.datetime(),
  })
  .meta({ id: 'KeyWindow' });

export type WindowView = z.infer<typeof windowViewSchema>;

/** Each window that has a limit. */
export const windowViewsSchema = z.object(windowFields(() => windowViewSchema));

export type WindowViews = z.infer<typeof windowViewsSchema>;

/** Use of the windows of a key now. */
export interface KeyWindows {
  windows: WindowViews;
  /** Milliseconds to the end of the ban; 0 for a key that is not banned. */
  banMs: number;
  /** Refused requests that count towards a ban now. */
  strikes: number;
  /** Redis' clock, in Unix milliseconds. */
  nowMs: number;
}

/** Reads the windows by one Redis command. Counts nothing. @param limits null for one that is not known */
export async function readKeyWindows(
  redis: RedisClient,
  place: KeyPlace,
  limits: ByWindow<number | null>,
  banPolicy: BanPolicy = defaultBanPolicy,
): Promise<KeyWindows> {
  const usage = await readUsage(redis, {
    place,
    rev: anyRev,
    limits: mapWindows(limits, (limit) => limit ?? maxLimit),
    banPolicy,
  });
  if (usage === undefined) throw new Error('read-usage-4.lua compared a rev despite anyRev');
  const { windows, banMs, strikes, nowMs } = usage;
  const views = mapWindows(windows, ({ used, remaining, resetMs }, name): WindowView => {
    const limit = limits[name] ?? null;
    const resetsAt = new Date(nowMs + resetMs).toISOString();
    return { used, limit, remaining: limit === null ? null : remaining, resetsAt };
  });
  return { windows: views, banMs, strikes, nowMs };
}
