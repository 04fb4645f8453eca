import type { ApiKeyRecord } from '../api-keys/api-key-record.ts';
import type { CustomerLimits } from '../api-keys/customer-record.ts';
import type { AuditAction } from '../redis/audit-actions.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isCustomerId, type KeyPlace } from '../redis/redis-keys.ts';
import type { Session } from './session.ts';
import { showCustomer, updateCustomer } from './stored-customers.ts';
import { showStoredKey, updateStoredKey } from './stored-keys.ts';

/** A customer, or one of its keys with what limits the customer. */
export type Limited = CustomerLimits &
  Pick<ApiKeyRecord, 'id' | 'customerId' | 'name' | 'rev' | 'suspendedAt'> &
  Partial<Pick<ApiKeyRecord, 'revokedAt' | 'expiresAt' | 'scopes'>>;

/**
 * Finds a customer or a key by its id. The place of a customer has no key, so it leads to no ban and no strikes.
 * @throws InvalidOperation if there is none, or its record is invalid
 */
export async function showLimited(
  redis: RedisClient,
  id: string,
): Promise<{ place: KeyPlace; record: Limited }> {
  if (!isCustomerId(id)) return showStoredKey(redis, id);
  const record = await showCustomer(redis, id);
  return { place: { customerId: id, keyHash: '' }, record: { ...record, customerId: id } };
}

/** Changes what limits a customer, by its own id or that of one of its keys, which is the target in the audit log. */
export async function updateLimits(
  session: Pick<Session, 'redis' | 'audit'>,
  id: string,
  action: AuditAction,
  edit: (record: Limited) => Promise<CustomerLimits>,
): Promise<Limited> {
  if (!isCustomerId(id)) {
    return updateStoredKey(session, id, action, async (record) => ({ ...record, ...(await edit(record)) }));
  }
  const record = await updateCustomer(session, id, action, async (before) => ({
    ...before,
    ...(await edit({ ...before, customerId: id })),
  }));
  return { ...record, customerId: id };
}
