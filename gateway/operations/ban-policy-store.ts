import { faultsOf } from '../config/describe-issues.ts';
import { banPolicySchema, type BanPolicy } from '../quota/ban-policy.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import type { RecordChange } from './audit-log.ts';
import { StoreRefusal } from './invalid-operation.ts';
import { changeSettings, readSettings } from './settings-hash.ts';

export interface BanPolicyStore {
  /** @throws StoreRefusal where there is none, or it was edited into something that no gateway can use */
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
  redis: RedisClient;
  audit: RecordChange;
}): BanPolicyStore {
  return {
    async show() {
      const fields = await readSettings(redis, redisKeys.banPolicy);
      if (Object.keys(fields).length === 0) {
        throw new StoreRefusal(
          'no ban policy is set: a gateway that starts sets the default one, running ones go on with their last good ' +
            'one; see: ops policy set --help',
        );
      }
      return parse(fields, 'the ban policy was edited into something unusable');
    },
    async set(change) {
      const texts = Object.fromEntries(
        Object.entries(change).map(([field, value]) => [field, String(value)]),
      );
      await changeSettings(redis, redisKeys.banPolicy, async (fields) => {
        const after = parse({ ...fields, ...texts }, 'the ban policy would be unusable');
        const before = banPolicySchema.safeParse(fields).data ?? fields;
        await audit({ action: 'policy.set', target: redisKeys.banPolicy, before, after });
        return texts;
      });
      return this.show();
    },
  };
}

function parse(fields: Record<string, string>, otherwise: string): BanPolicy {
  const parsed = banPolicySchema.safeParse(fields);
  if (parsed.success) return parsed.data;
  throw new StoreRefusal(`${otherwise}: ${faultsOf(parsed.error).join('; ')}`);
}
