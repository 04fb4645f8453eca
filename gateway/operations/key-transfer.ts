import {
  apiKeyState,
  formatApiKeyRecord,
  readApiKey,
  recordExpiry,
  type ApiKeyRecord,
} from '../api-keys/api-key-record.ts';
import { formatCustomerRecord, type CustomerRecord } from '../api-keys/customer-record.ts';
import { scheduleExpiry } from '../events/event-queue.ts';
import { limitsIn } from '../limits/limits.ts';
import { createHashReader } from '../redis/hash-reader.ts';
import type { RecordChange } from '../redis/record-change.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { markSetUp } from '../redis/set-up-marker.ts';
import { addCustomerToIndex, addToIndex, placeOf, placeOfHash } from './api-key-index.ts';
import { InvalidOperation, ofLine } from './invalid-operation.ts';
import { assertLimits, listPlan } from './key-limits.ts';
import { recordChangeCall } from './record-change-call.ts';
import { readStoredCustomer } from './stored-customers.ts';
import { parseLines, type TransferredCustomer, type TransferredKey } from './transfer-lines.ts';
import { writeBatch } from './write-batch.ts';

/** Numbers of records of a file, by outcome: those of keys, and of customers that have no key in it. */
export interface ImportResult {
  added: number;
  /** Present, and the same. */
  unchanged: number;
  /** Present, but changed since the export: not touched. */
  differing: number;
  /** Revoked or expired for longer than records are kept. */
  outdated: number;
}

type Outcome = 'absent' | 'unchanged' | 'differing' | 'outdated';

interface KeyImportDependencies {
  redis: RedisClient;
  audit: RecordChange;
  now: () => number;
}

/** A file of exported records. */
export interface ExportFile {
  lines: AsyncIterable<string> | Iterable<string>;
  /** Hexadecimal SHA-256 of the file, known when all lines are read. */
  sha256(): string;
}

/**
 * Imports exported records, as one audit entry. All lines are checked before the first one is written, so that an invalid
 * file changes nothing. Present records are not touched, so that importing twice is the same as once.
 * @throws InvalidOperation that names the line
 */
export async function importKeys(
  { lines, sha256 }: ExportFile,
  { redis, audit, now }: KeyImportDependencies,
): Promise<ImportResult> {
  const result: ImportResult = { added: 0, unchanged: 0, differing: 0, outdated: 0 };
  const absent: TransferredKey[] = [];
  const absentCustomers: CustomerRecord[] = [];
  const unindexed: TransferredKey[] = [];
  const unindexedCustomers: CustomerRecord[] = [];

  const seen = new Map<string, number>();
  for await (const { line, ...parsed } of parseLines(lines)) {
    const names =
      parsed.key === undefined ? [parsed.customer.customerId] : [parsed.key.id, parsed.key.sha256];
    for (const name of names) {
      const earlier = seen.get(name);
      if (earlier !== undefined) {
        throw new InvalidOperation(`line ${line}: ${name} is in line ${earlier}, too`);
      }
      seen.set(name, line);
    }
    const outcome =
      parsed.key === undefined
        ? await checkCustomer(customerOf(parsed.customer), line)
        : await checkKey(parsed.key, line);
    if (outcome !== 'absent') result[outcome] += 1;
  }
  for (const { sha256, customer: _customer, ...record } of unindexed) {
    await addToIndex({ redis, now }, record, { customerId: record.customerId, keyHash: sha256 });
  }
  for (const customer of unindexedCustomers) await addCustomerToIndex({ redis, now }, customer);
  if (absent.length + absentCustomers.length > 0) {
    const source = { action: 'keys.import', fileSha256: sha256(), audit } as const;
    const records = [...absent, ...absentCustomers];
    const add = (record: TransferredKey | CustomerRecord) =>
      'sha256' in record ? addKey(record) : addCustomer(record);
    for await (const outcomes of writeBatch(records, add, source)) {
      for (const outcome of outcomes) result[outcome] += 1;
    }
    const expiring = absent.flatMap(({ id: keyId, expiresAt }) => (expiresAt ? [{ keyId, expiresAt }] : []));
    await scheduleExpiry(redis, expiring, now());
  }
  await markSetUp(redis);
  return result;

  async function checkKey(key: TransferredKey, line: number): Promise<Outcome> {
    const { sha256, customer, ...record } = key;
    const [indexed, place] = await Promise.all([placeOf(redis, record.id), placeOfHash(redis, sha256)]);
    if (indexed !== undefined && indexed.keyHash !== sha256) {
      throw new InvalidOperation(`line ${line}: ${record.id} is the id of another key in this Redis`);
    }
    const at = place ?? { customerId: record.customerId, keyHash: sha256 };
    const [hasKey, hasCustomer] = await Promise.all([
      redis.exists(redisKeys.apiKey(at)),
      redis.exists(redisKeys.customer(at.customerId)),
    ]);
    if (hasKey > hasCustomer) {
      // Redis has lost the customer alone.
      absentCustomers.push(customerOf({ ...key, customerId: at.customerId }));
      return 'absent';
    }
    const found = await readApiKey(createHashReader(redis), at);
    if (found !== undefined) {
      if (found.record.id !== record.id) {
        throw new InvalidOperation(
          `line ${line}: the key of ${record.id} has the id ${found.record.id} in this Redis`,
        );
      }
      // An import was interrupted, or the index was lost.
      if (indexed === undefined || place === undefined)
        unindexed.push({ sha256, customer, ...record, customerId: at.customerId });
      return isSameRecord(found, { record, customer: customerOf(key) }) ? 'unchanged' : 'differing';
    }
    const end = recordExpiry(record);
    if (end !== '' && end * 1000 <= now()) return 'outdated';
    if (apiKeyState(record, now()) === 'valid') await ofLine(line, assertLimits(redis, record));
    absent.push(key);
    return 'absent';
  }

  async function checkCustomer(customer: CustomerRecord, line: number): Promise<Outcome> {
    const found = await readStoredCustomer(redis, customer.id);
    if (found !== undefined) {
      const score = await redis.zscore(redisKeys.customers, customer.id);
      if (score === null) unindexedCustomers.push(found);
      return isSameCustomer(found, customer) ? 'unchanged' : 'differing';
    }
    if (customer.suspendedAt === undefined) await ofLine(line, assertLimits(redis, customer));
    absentCustomers.push(customer);
    return 'absent';
  }

  /** A customer that is present stays as it is. */
  async function addCustomer(customer: CustomerRecord): Promise<'added' | 'unchanged'> {
    await listPlan(redis, customer);
    let isAdded = false;
    if ((await redis.exists(redisKeys.customer(customer.id))) === 0) {
      const fields = { ...formatCustomerRecord(customer), rev: String(customer.rev) };
      const { keys, args } = recordChangeCall({ customerId: customer.id, rev: 0, customer: fields });
      isAdded = (await redis.changeRecord(keys.length, ...keys, ...args)) !== 0;
    }
    await addCustomerToIndex({ redis, now }, customer);
    return isAdded ? 'added' : 'unchanged';
  }

  async function addKey(added: TransferredKey): Promise<'added' | 'unchanged'> {
    await addCustomer(customerOf(added));
    const { sha256, customer: _added, ...record } = added;
    const { customerId } = record;
    const { keys, args } = recordChangeCall({
      customerId,
      rev: '',
      key: {
        keyHash: sha256,
        fields: formatApiKeyRecord(record),
        expiry: recordExpiry(record),
        isNew: true,
      },
    });
    const rev = await redis.changeRecord(keys.length, ...keys, ...args);
    await addToIndex({ redis, now }, record, { customerId, keyHash: sha256 });
    // Another operator is importing the same file.
    return rev === 0 ? 'unchanged' : 'added';
  }
}

function customerOf({ customerId, customer, ...record }: TransferredCustomer): CustomerRecord {
  const { plan, suspendedAt, rev } = record;
  const limited = { plan, ...limitsIn(record) };
  return { id: customerId, ...customer, ...limited, suspendedAt, rev };
}

interface ComparedKey {
  record: ApiKeyRecord;
  customer: CustomerRecord;
}

/** Compares all fields but `rev`, which writing raises. */
function isSameRecord(one: ComparedKey, other: ComparedKey): boolean {
  const [oneKey, otherKey] = [one, other].map(({ record }) => JSON.stringify(formatApiKeyRecord(record)));
  return oneKey === otherKey && isSameCustomer(one.customer, other.customer);
}

/** The same for a customer. */
function isSameCustomer(one: CustomerRecord, other: CustomerRecord): boolean {
  return JSON.stringify(formatCustomerRecord(one)) === JSON.stringify(formatCustomerRecord(other));
}
