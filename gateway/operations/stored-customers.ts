import {
  formatCustomerRecord,
  parseCustomerRecord,
  type CustomerRecord,
} from '../api-keys/customer-record.ts';
import type { AuditAction } from '../redis/audit-actions.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { isCustomerId, redisKeys, type CustomerId } from '../redis/redis-keys.ts';
import { placeOf } from './api-key-index.ts';
import { InvalidOperation } from './invalid-operation.ts';
import { assertNotApiKey } from './pasted-key.ts';
import { recordChangeCall } from './record-change-call.ts';
import type { Session } from './session.ts';
import { maxAttempts, showStoredKey, tooManyChanges } from './stored-keys.ts';

/** There is no customer with an id. */
export class UnknownCustomer extends InvalidOperation {
  constructor(id: string) {
    super(`there is no customer with the id ${JSON.stringify(id)}`);
  }
}

/** @throws InvalidOperation if there is no such customer, or its record is invalid */
export async function showCustomer(redis: RedisClient, id: string): Promise<CustomerRecord> {
  assertNotApiKey(id);
  if (!isCustomerId(id)) throw new UnknownCustomer(id);
  const key = redisKeys.customer(id);
  const fields = await redis.hgetall(key).catch((error: unknown) => {
    if (isWrongType(error)) throw new InvalidOperation(`${key} is no longer a hash: delete it`);
    throw error;
  });
  const parsed = parseCustomerRecord(id, fields);
  if (parsed.outcome === 'record') return parsed.record;
  if (parsed.outcome === 'absent') throw new UnknownCustomer(id);
  throw new InvalidOperation(`the record ${key} is invalid: ${parsed.issues.join('; ')}`);
}

/**
 * Finds a customer by its own id or by that of one of its API keys, also of one whose record is gone.
 * @throws InvalidOperation if there is no such key
 */
export async function findCustomerId(redis: RedisClient, id: string): Promise<CustomerId> {
  if (isCustomerId(id)) return id;
  return ((await placeOf(redis, id)) ?? (await showStoredKey(redis, id)).place).customerId;
}

/**
 * Reads, edits, and writes if nobody wrote in between; otherwise starts again. Audited.
 * @throws InvalidOperation as showCustomer does, and what `edit` throws
 */
export async function updateCustomer(
  { redis, audit }: Pick<Session, 'redis' | 'audit'>,
  id: string,
  action: AuditAction,
  edit: (record: CustomerRecord) => Promise<CustomerRecord>,
): Promise<CustomerRecord> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const before = await showCustomer(redis, id);
    const edited = await edit(before);
    const { rev: _unknownYet, ...after } = edited;
    const rev = await audit.make([{ action, target: id, before, after }], {
      script: 'changeRecordAudited',
      ...recordChangeCall({
        customerId: before.id,
        rev: before.rev,
        customer: formatCustomerRecord(edited),
      }),
    });
    if (rev) return { ...edited, rev };
  }
  throw tooManyChanges(id);
}
