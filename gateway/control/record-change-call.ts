import { formatApiKeyRecord, keptSeconds, recordExpiry, type ApiKeyRecord } from '../keys/records.ts';
import type { Change } from '../platform/redis/record-change.ts';
import { redisKeys, type CustomerId } from '../platform/redis/redis-keys.ts';
import type { Session } from './session.ts';

/** What change-record.lua writes. */
interface RecordFields {
  customerId: CustomerId;
  /** Rev that the change is based on; '' for any. */
  rev: string | number;
  /** Fields of the customer; an empty value removes one. */
  customer?: Record<string, string> | undefined;
  key?: {
    keyHash: string;
    record: ApiKeyRecord;
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
      key === undefined ? '' : recordExpiry(key.record),
      keptSeconds,
      key?.isNew === true ? 1 : '',
      ofCustomer.length,
      ...ofCustomer.flat(),
      ...(key === undefined ? [] : Object.entries(formatApiKeyRecord(key.record)).flat()),
    ],
  };
}

/**
 * Writes a key or a customer, audited.
 * @param record with the rev that the change is based on
 * @returns the record with its new rev; undefined if it was changed in between, and nothing was written
 */
export async function writeRecord<Written extends { id: string; rev: number }>(
  { audit }: Pick<Session, 'audit'>,
  { action, before }: Pick<Change, 'action' | 'before'>,
  record: Written,
  fields: Omit<RecordFields, 'rev'>,
): Promise<Written | undefined> {
  const { rev: base, ...after } = record;
  const rev = await audit.make([{ action, target: record.id, before, after }], {
    script: 'changeRecordAudited',
    ...recordChangeCall({ ...fields, rev: base }),
  });
  return rev ? { ...record, rev } : undefined;
}
