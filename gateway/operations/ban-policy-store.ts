import { isDeepStrictEqual } from 'node:util';
import { banPolicySetting, defaultBanPolicy, type BanPolicy } from '../quota/ban-policy.ts';
import { textFields } from '../redis/enforced-settings.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { InvalidOperation } from './invalid-operation.ts';
import type { Session } from './session.ts';
import { changeSettings, parseSetting, readSettings } from './settings-hash.ts';

export interface BanPolicyStore {
  /** @throws InvalidOperation if no policy is set, or it is invalid */
  show(): Promise<BanPolicy>;
  /**
   * Changes some of its fields. In force on all gateways within a second.
   * @param approve called before the change with the policy that is stored, null if it is invalid; refuses it by throwing
   * @throws InvalidOperation if the policy as a whole would be invalid; nothing is changed
   */
  set(change: Partial<BanPolicy>, approve?: ApproveChange): Promise<BanPolicy>;
  /**
   * Sets the defaults, whatever is stored. If they are stored, nothing is changed.
   * @param approve as for set
   * @returns the policy before, or its fields as they are in Redis if it was invalid
   */
  reset(approve?: ApproveChange): Promise<{ before: BanPolicy | Record<string, string>; after: BanPolicy }>;
}

type ApproveChange = (stored: BanPolicy | null) => void;

export function createBanPolicyStore(session: Pick<Session, 'redis' | 'audit'>): BanPolicyStore {
  return {
    async show() {
      const fields = await readSettings(session.redis, redisKeys.banPolicy);
      if (Object.keys(fields).length === 0) {
        throw new InvalidOperation(
          'no ban policy is set: running gateways keep the one that they enforce; if there are none, a gateway that ' +
            'starts uses the default, and sets it if none was ever set; see: ops policy set --help',
        );
      }
      return parseSetting(banPolicySetting, fields, 'the ban policy is invalid');
    },
    async set(change, approve) {
      const texts = textFields(change);
      await changeSettings(session, redisKeys.banPolicy, async (fields) => {
        const after = parseSetting(
          banPolicySetting,
          { ...fields, ...texts },
          'the ban policy would be invalid',
        );
        const stored = banPolicySetting.fields.safeParse(fields).data;
        approve?.(stored ?? null);
        const before = stored ?? fields;
        return {
          fields: texts,
          entry: { action: 'policy.set', target: redisKeys.banPolicy, before, after },
        };
      });
      return this.show();
    },
    async reset(approve) {
      let before: BanPolicy | Record<string, string> = {};
      await changeSettings(session, redisKeys.banPolicy, async (fields) => {
        const stored = banPolicySetting.fields.safeParse(fields).data;
        approve?.(stored ?? null);
        before = stored ?? fields;
        if (isDeepStrictEqual(before, defaultBanPolicy)) return { fields: {} };
        const removed = Object.keys(fields).map((field) => [field, '']);
        return {
          fields: { ...Object.fromEntries(removed), ...textFields(defaultBanPolicy) },
          entry: { action: 'policy.reset', target: redisKeys.banPolicy, before, after: defaultBanPolicy },
        };
      });
      return { before, after: defaultBanPolicy };
    },
  };
}
