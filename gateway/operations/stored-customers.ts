import { randomBytes } from 'node:crypto';
import {
  formatCustomerRecord,
  parseCustomerRecord,
  type CustomerRecord,
  type ParsedCustomer,
} from '../api-keys/customer-record.ts';
import { notHash } from '../api-keys/read-api-key.ts';
import { textsIn, type CustomerTexts } from '../limits/customer-texts.ts';
import { limitsIn, type SomeLimits } from '../limits/limits.ts';
import type { AuditAction } from '../redis/audit-actions.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { unlessWrongType } from '../redis/redis-errors.ts';
import { isCustomerId, redisKeys, type CustomerId } from '../redis/redis-keys.ts';
import { customerPages, placeOf } from './api-key-index.ts';
import { IssueForOperators, UnknownId } from './invalid-operation.ts';
import { assertNotApiKey } from './pasted-key.ts';
import { recordChangeCall } from './record-change-call.ts';
import type { Session } from './session.ts';
import { maxAttempts, showStoredKey, tooManyChanges } from './stored-keys.ts';

/** There is no customer with an id. */
export class UnknownCustomer extends UnknownId {
  constructor(id: string) {
    super(`there is no customer with the id ${JSON.stringify(id)}`);
  }
}

/** The record of a customer that is made now. */
export function newCustomer(
  wanted: SomeLimits & CustomerTexts & Pick<CustomerRecord, 'name' | 'plan'>,
  nowMs: number,
): CustomerRecord {
  const { name, plan } = wanted;
  const [id, createdAt] = [`cus_${randomBytes(9).toString('hex')}`, new Date(nowMs).toISOString()] as const;
  return { id, name, plan, createdAt, ...limitsIn(wanted), ...textsIn(wanted), rev: 0 };
}

/** Reads a customer, also one that was edited by hand. */
export async function readStoredCustomer(redis: RedisClient, id: CustomerId): Promise<ParsedCustomer> {
  const key = redisKeys.customer(id);
  const fields = await unlessWrongType(redis.hgetall(key), undefined);
  return fields === undefined ? { outcome: 'invalid', issues: [notHash] } : parseCustomerRecord(id, fields);
}

const pageSize = 500;

/** All customers by time of creation, in pages. */
export async function* storedCustomerPages(
  redis: RedisClient,
): AsyncGenerator<{ id: CustomerId; customer: ParsedCustomer }[]> {
  for await (const ids of customerPages(redis, pageSize)) {
    const read = async (id: CustomerId) => ({ id, customer: await readStoredCustomer(redis, id) });
    yield Promise.all(ids.map(read));
  }
}

/** @throws InvalidOperation if there is no such customer, or its record is invalid */
export async function showCustomer(redis: RedisClient, id: string): Promise<CustomerRecord> {
  assertNotApiKey(id);
  if (!isCustomerId(id)) throw new UnknownCustomer(id);
  const key = redisKeys.customer(id);
  const parsed = await readStoredCustomer(redis, id);
  if (parsed.outcome === 'record') return parsed.record;
  if (parsed.outcome === 'absent') throw new UnknownCustomer(id);
  const isLost = parsed.issues.includes(notHash);
  throw new IssueForOperators(
    isLost ? `${key} ${notHash}` : `the record ${key} is invalid: ${parsed.issues.join('; ')}`,
  );
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
