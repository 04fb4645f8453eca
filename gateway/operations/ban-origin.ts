import { z } from 'zod';
import { consecutiveBan } from '../quota/ban-reason.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys, type KeyPlace } from '../redis/redis-keys.ts';
import { readAudit } from './audit-log.ts';

/** Since when a key is banned, and by whom. */
export const banOriginSchema = z.object({
  since: z.iso.datetime().nullable().describe('Null for a ban that was set by hand'),
  who: z.string().nullable().describe('`gateway`, or the name of an operator; null if it is not known'),
});

/** An operator's ban is audited just before it is set. */
const auditLeadMs = 5000;

/**
 * Finds out where the ban of a key comes from.
 * @param endsAt ISO 8601 in UTC; empty for a ban without an end
 */
export async function readBanOrigin(
  redis: RedisClient,
  { id, place, endsAt }: { id: string; place: KeyPlace; endsAt: string },
): Promise<z.infer<typeof banOriginSchema>> {
  const [value, [recorded, banMs]] = await Promise.all([
    redis.get(redisKeys.ban(place)).catch(() => null),
    redis.hmget(redisKeys.strikes(place), 'ban', 'banMs').catch(() => []),
  ]);
  const isRecorded = value !== null && recorded === value && endsAt !== '' && Number(banMs) > 0;
  if (!isRecorded) return { since: null, who: null };
  const sinceMs = Date.parse(endsAt) - Number(banMs);
  const since = new Date(sinceMs).toISOString();
  if (consecutiveBan(value) !== undefined) return { since, who: 'gateway' };
  const [entry] = await readAudit(redis, 1, {
    action: 'bans.add',
    targets: [id],
    since: new Date(sinceMs - auditLeadMs),
    until: new Date(sinceMs + auditLeadMs),
  });
  return { since, who: entry?.who ?? null };
}
