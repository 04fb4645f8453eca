import { parseCustomerRecord, type CustomerRecord } from '../api-keys/customer-record.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { isCustomerId, redisKeys, type CustomerId } from '../redis/redis-keys.ts';
import { placeOf } from './api-key-index.ts';
import { InvalidOperation } from './invalid-operation.ts';
import { showStoredKey } from './stored-keys.ts';

/** There is no customer with an id. */
export class UnknownCustomer extends InvalidOperation {
  constructor(id: string) {
    super(`there is no customer with the id ${JSON.stringify(id)}`);
  }
}

/** @throws InvalidOperation if there is no such customer, or its record is invalid */
export async function showCustomer(redis: RedisClient, id: string): Promise<CustomerRecord> {
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
