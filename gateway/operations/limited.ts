import type { ApiKeyRecord } from '../api-keys/api-key-record.ts';
import type { CustomerLimits } from '../api-keys/customer-record.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isCustomerId, type KeyPlace } from '../redis/redis-keys.ts';
import { showCustomer } from './stored-customers.ts';
import { showStoredKey } from './stored-keys.ts';

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
