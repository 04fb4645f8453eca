import { randomBytes } from 'node:crypto';
import { formatCustomerRecord, parseCustomerRecord, type CustomerRecord } from '../../keys/records.ts';
import { limitsIn } from '../../limits/limits.ts';
import { customerFields, fieldsIn } from '../../limits/record-fields.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { isCustomerId, redisKeys, type CustomerId } from '../../platform/redis/redis-keys.ts';
import { UnknownId } from '../invalid-operation.ts';
import { assertNotApiKey } from '../keys/pasted-key.ts';
import { retryOvertaken } from '../overtaken-change.ts';
import { writeRecord } from '../record-change-call.ts';
import { allFound } from '../scored-pages.ts';
import type { Session } from '../session.ts';

/** There is no customer with an id. */
export class UnknownCustomer extends UnknownId {
  constructor(id: string) {
    super(`there is no customer with the id ${JSON.stringify(id)}`);
  }
}

/** The record of a customer that is made now. */
export function newCustomer(
  wanted: Omit<CustomerRecord, 'id' | 'createdAt' | 'rev'>,
  nowMs: number,
): CustomerRecord {
  const { name, plan } = wanted;
  const [id, createdAt] = [`cus_${randomBytes(9).toString('hex')}`, new Date(nowMs).toISOString()] as const;
  return { id, name, plan, createdAt, ...limitsIn(wanted), ...fieldsIn(customerFields, wanted), rev: 0 };
}

/** Reads a customer. @returns undefined if no customer has this id @throws UnexpectedValue if its record was edited into something else */
export async function findCustomer(redis: RedisClient, id: string): Promise<CustomerRecord | undefined> {
  return isCustomerId(id) ? parseCustomerRecord(id, await redis.hgetall(redisKeys.customer(id))) : undefined;
}

/** Adds a customer to the index. */
export async function addCustomerToIndex(
  redis: RedisClient,
  { id, createdAt }: { id: CustomerId; createdAt: string },
): Promise<void> {
  await redis.zadd(redisKeys.customers, Date.parse(createdAt) || 0, id);
}

/** Ids of all customers by time of creation, in pages. */
export const customerPages = (redis: RedisClient, size: number) =>
  allFound(
    redis,
    {
      key: redisKeys.customers,
      find: (ids) => Promise.resolve(ids.map((id) => (isCustomerId(id) ? id : undefined))),
    },
    size,
  );

/** All customers by time of creation, in pages. */
export const storedCustomerPages = (redis: RedisClient) =>
  allFound(redis, {
    key: redisKeys.customers,
    find: (ids) => Promise.all(ids.map((id) => findCustomer(redis, id))),
  });

/** @throws UnknownCustomer if there is no such customer; UnexpectedValue as readStoredCustomer does */
export async function showCustomer(redis: RedisClient, id: string): Promise<CustomerRecord> {
  assertNotApiKey(id);
  const record = await findCustomer(redis, id);
  if (record === undefined) throw new UnknownCustomer(id);
  return record;
}

/** The id of a customer that may have been removed. @throws UnknownCustomer for another text */
export function asCustomerId(id: string): CustomerId {
  if (isCustomerId(id)) return id;
  throw new UnknownCustomer(id);
}

/**
 * Reads, edits, and writes if nobody wrote in between; otherwise starts again. Audited.
 * @param edit returns the same record if there is nothing to change
 * @throws InvalidOperation as showCustomer does, and what `edit` throws
 */
export function updateCustomer(
  session: Pick<Session, 'redis' | 'audit'>,
  id: string,
  action: string,
  edit: (record: CustomerRecord) => CustomerRecord | Promise<CustomerRecord>,
): Promise<CustomerRecord> {
  return retryOvertaken(`the customer ${id}`, async () => {
    const before = await showCustomer(session.redis, id);
    const record = await edit(before);
    return record === before ? before : writeCustomer(session, { action, before }, record);
  });
}

/** Writes a customer, audited. @returns undefined if it was changed in between */
export const writeCustomer = (
  session: Pick<Session, 'audit'>,
  change: Parameters<typeof writeRecord>[1],
  record: CustomerRecord,
) => writeRecord(session, change, record, { customerId: record.id, customer: formatCustomerRecord(record) });
