import { usageSetting } from '../quota/usage-policy.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { InvalidOperation } from './invalid-operation.ts';
import type { Session } from './session.ts';
import { changeSettings, parseSetting, readSettings } from './settings-hash.ts';

export interface UsageRetentionStore {
  /**
   * @returns whole days for which the use of keys is kept
   * @throws InvalidOperation if no retention is set, or it is invalid
   */
  read(): Promise<number>;
  /**
   * Sets the retention. In force on all gateways within a second; adjustUsageExpiry changes what is stored already.
   * @param days 1 to 4000
   * @param approve called before the change with the retention that is stored, 0 as below; refuses it by throwing
   * @returns the retention before, 0 if none was set or it was invalid, and the one after
   * @throws InvalidOperation if the number is out of range; nothing is changed
   */
  set(days: number, approve?: (stored: number) => void): Promise<{ before: number; after: number }>;
}

export function createUsageRetentionStore(session: Pick<Session, 'redis' | 'audit'>): UsageRetentionStore {
  const key = redisKeys.usagePolicy;
  return {
    async read() {
      const fields = await readSettings(session.redis, key);
      if (Object.keys(fields).length === 0) {
        throw new InvalidOperation(
          'no usage retention is set: running gateways keep the one that they enforce; set it with: ops usage retention --days 400',
        );
      }
      return parseSetting(usageSetting, fields, `${key} is invalid`).retentionDays;
    },
    async set(days, approve) {
      const after = { retentionDays: String(days) };
      parseSetting(usageSetting, after, `the usage retention ${days} is invalid`);
      let before = 0;
      await changeSettings(session, key, async (fields) => {
        const parsed = usageSetting.fields.safeParse(fields);
        before = parsed.data?.retentionDays ?? 0;
        approve?.(before);
        return {
          fields: after,
          entry: {
            action: 'usage.retention',
            target: key,
            before: parsed.data ?? fields,
            after: { retentionDays: days },
          },
        };
      });
      return { before, after: days };
    },
  };
}

/** @returns the retention, or the default if none is set or it is invalid */
export async function readRetentionDays(redis: RedisClient): Promise<number> {
  const fields = await redis.hgetall(redisKeys.usagePolicy).catch((error: unknown) => {
    if (isWrongType(error)) return {};
    throw error;
  });
  return (usageSetting.fields.safeParse(fields).data ?? usageSetting.defaults).retentionDays;
}
