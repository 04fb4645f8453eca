import { keptSeconds } from '../keys/api-key-record.ts';
import { redisKeys, type CustomerId } from '../platform/redis/redis-keys.ts';

/** What change-record.lua writes. An empty value removes a field. */
interface RecordFields {
  customerId: CustomerId;
  /** Rev that the change is based on; '' for any. */
  rev: string | number;
  customer?: Record<string, string>;
  key?: {
    keyHash: string;
    fields: Record<string, string>;
    /** As recordExpiry returns it. */
    expiry: number | '';
    /** Whether nothing is written if the key exists. */
    isNew?: boolean;
  };
}

/** Keys and arguments of change-record.lua. */
export function recordChangeCall({ customerId, rev, customer = {}, key }: RecordFields): {
  keys: string[];
  args: (string | number)[];
} {
  const ofCustomer = Object.entries(customer);
  const ofKey =
    key === undefined
      ? []
      : [redisKeys.apiKey({ customerId, keyHash: key.keyHash }), redisKeys.customerKeys(customerId)];
  return {
    keys: [redisKeys.customer(customerId), ...ofKey],
    args: [
      rev,
      key?.expiry ?? '',
      keptSeconds,
      key?.isNew === true ? 1 : '',
      ofCustomer.length,
      ...ofCustomer.flat(),
      ...Object.entries(key?.fields ?? {}).flat(),
    ],
  };
}
