import type { Redis } from 'ioredis';
import type { RecordChange } from '../audit-log.ts';
import { StoreRefusal } from '../api-keys/store-refusal.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { type BanPolicy, banPolicySchema } from './ban-policy.ts';

export interface BanPolicyStore {
  /** @throws StoreRefusal where it was edited into something that no gateway can use */
  show(): Promise<BanPolicy>;
  /**
   * Changes some of its fields. In force on all gateways within a second.
   * @throws StoreRefusal where the policy as a whole could not be used then; nothing is changed
   */
  set(change: Partial<BanPolicy>): Promise<BanPolicy>;
}

export function createBanPolicyStore({
  redis,
  audit,
}: {
  redis: Redis;
  audit: RecordChange;
}): BanPolicyStore {
  async function readFields(): Promise<Record<string, string>> {
    try {
      return await redis.hgetall(redisKeys.banPolicy);
    } catch (error) {
      if (!isWrongType(error)) throw error;
      throw new StoreRefusal(
        `${redisKeys.banPolicy} was edited into something that is no hash: DEL it first`,
      );
    }
  }

  return {
    async show() {
      return parse(await readFields(), 'the ban policy was edited into something unusable');
    },
    async set(change) {
      const before = await readFields();
      const texts = Object.fromEntries(
        Object.entries(change).map(([field, value]) => [field, String(value)]),
      );
      const after = parse({ ...before, ...texts }, 'the ban policy would be unusable');
      await redis.hset(redisKeys.banPolicy, texts);
      const good = banPolicySchema.safeParse(before).data ?? before;
      await audit({ action: 'policy.set', target: redisKeys.banPolicy, before: good, after });
      return after;
    },
  };
}

function parse(fields: Record<string, string>, otherwise: string): BanPolicy {
  const parsed = banPolicySchema.safeParse(fields);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`);
  throw new StoreRefusal(`${otherwise}: ${faults.join('; ')}`);
}
