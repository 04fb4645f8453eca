import { z } from 'zod';
import {
  apiKeyState,
  expiryText,
  formatApiKeyRecord,
  recordExpiry,
  type ApiKeyRecord,
} from '../api-keys/api-key-record.ts';
import { formatCustomerRecord, type CustomerRecord } from '../api-keys/customer-record.ts';
import { readApiKey } from '../api-keys/read-api-key.ts';
import { describeIssues } from '../config/describe-issues.ts';
import { limitsIn, maxLimit } from '../limits/limits.ts';
import { forAll, windowNames } from '../limits/windows.ts';
import type { RecordChange } from '../redis/record-change.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isCustomerId, redisKeys, type CustomerId } from '../redis/redis-keys.ts';
import { addCustomerToIndex, addToIndex, placeOf, placeOfHash } from './api-key-index.ts';
import type { ListedApiKey } from './api-key-store.ts';
import { assertTypes } from './change-redis.ts';
import { InvalidOperation } from './invalid-operation.ts';
import { keyIdPattern, scopesInput } from './key-input.ts';
import { assertLimits, listPlan } from './key-limits.ts';
import { recordChangeCall } from './record-change-call.ts';
import { writeBatch } from './write-batch.ts';

/** A record in an export. It contains the hash of the key and not the key, so nobody can use it as a credential. */
export interface TransferredKey extends ApiKeyRecord {
  sha256: string;
  /** What the record of the key does not have of its customer. */
  customer: Pick<CustomerRecord, 'name' | 'createdAt' | 'contact' | 'notes' | 'reference'>;
}

/** Numbers of records of a file, by outcome. */
export interface ImportResult {
  added: number;
  /** Present, and the same. */
  unchanged: number;
  /** Present, but changed since the export: not touched. */
  differing: number;
  /** Revoked or expired for longer than records are kept. */
  outdated: number;
}

/** Formats a line of a file that importKeys reads. */
export function exportLine(key: Extract<ListedApiKey, { outcome: 'record' }>): string {
  const { name, createdAt, contact, notes, reference } = key.customer;
  const customer = { name, createdAt, contact, notes, reference };
  return JSON.stringify({ sha256: key.place.keyHash, ...key.record, customer } satisfies TransferredKey);
}

const limit = z.number().int().min(1).max(maxLimit).optional();
const timedLimits = <Time extends z.ZodRawShape>(time: Time) =>
  z
    .strictObject({ ...forAll(() => limit), ...time })
    .refine((limits) => windowNames.some((name) => Reflect.get(limits, name) !== undefined), 'has no limit')
    .optional();
/** Writing raises rev by at least one, and it has at most 15 digits. */
const maxRev = 999_999_999_999_998;

/** As permissive as a record in Redis but for the id: whatever has a valid one can be exported and imported. */
const lineSchema = z.strictObject({
  sha256: z.string().regex(/^[\da-f]{64}$/, 'is not a SHA-256 in hexadecimal'),
  id: z.string().regex(keyIdPattern, 'is not 1 to 100 letters, digits, _ and -'),
  customerId: z.string().refine(isCustomerId, 'is not cus_ and 1 to 96 letters, digits, _ and -').optional(),
  customer: z
    .strictObject({
      name: z.string(),
      createdAt: z.string(),
      contact: z.string().optional(),
      notes: z.string().optional(),
      reference: z.string().optional(),
    })
    .optional(),
  name: z.string(),
  plan: z.string().min(1),
  hint: z.string(),
  createdAt: z.string(),
  expiresAt: expiryText.optional(),
  scopes: scopesInput.optional(),
  ...forAll(() => limit),
  temporary: timedLimits({ until: z.iso.datetime({ offset: true, error: 'is not an ISO 8601 time' }) }),
  trial: timedLimits({ since: z.number().int().min(1).max(999_999_999_999_999) }),
  revokedAt: z.string().min(1).optional(),
  suspendedAt: z.string().min(1).optional(),
  replaces: z.string().optional(),
  replacedBy: z.string().optional(),
  batch: z.string().optional(),
  rev: z.number().int().min(0).max(maxRev),
});

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
  const unindexed: TransferredKey[] = [];

  const seen = new Map<string, number>();
  for await (const { key, line } of parseLines(lines)) {
    for (const name of [key.id, key.sha256]) {
      const earlier = seen.get(name);
      if (earlier !== undefined) {
        throw new InvalidOperation(`line ${line}: ${name} is in line ${earlier}, too`);
      }
      seen.set(name, line);
    }
    switch (await check(key, line)) {
      case 'absent':
        absent.push(key);
        break;
      case 'unchanged':
        result.unchanged += 1;
        break;
      case 'differing':
        result.differing += 1;
        break;
      case 'outdated':
        result.outdated += 1;
    }
  }
  for (const { sha256, customer: _customer, ...record } of unindexed) {
    await addToIndex({ redis, now }, record, { customerId: record.customerId, keyHash: sha256 });
  }
  if (absent.length > 0) {
    const source = { action: 'keys.import', fileSha256: sha256(), audit } as const;
    const customers = new Map(absent.map((key) => [key.customerId, customerOf(key)]));
    for (const customer of customers.values()) await addCustomer(customer);
    for await (const outcomes of writeBatch(absent, add, source)) {
      for (const outcome of outcomes) result[outcome] += 1;
    }
  }
  return result;

  async function check(
    { sha256, customer, ...record }: TransferredKey,
    line: number,
  ): Promise<'absent' | 'unchanged' | 'differing' | 'outdated'> {
    const [indexed, place] = await Promise.all([placeOf(redis, record.id), placeOfHash(redis, sha256)]);
    if (indexed !== undefined && indexed.keyHash !== sha256) {
      throw new InvalidOperation(`line ${line}: ${record.id} is the id of another key in this Redis`);
    }
    const at = place ?? { customerId: record.customerId, keyHash: sha256 };
    const found = await readApiKey(redis, at);
    if (found.outcome === 'invalid') {
      await assertTypes(redis, [redisKeys.customer(at.customerId), redisKeys.apiKey(at)]);
      return 'differing';
    }
    if (found.outcome === 'record') {
      if (found.record.id !== record.id) {
        throw new InvalidOperation(
          `line ${line}: the key of ${record.id} has the id ${found.record.id} in this Redis`,
        );
      }
      // An import was interrupted, or the index was lost.
      if (indexed === undefined) unindexed.push({ sha256, customer, ...record, customerId: at.customerId });
      const isSame = isSameRecord(found, { record, customer: customerOf({ sha256, customer, ...record }) });
      return isSame ? 'unchanged' : 'differing';
    }
    const end = recordExpiry(record);
    if (end !== '' && end * 1000 <= now()) return 'outdated';
    if (apiKeyState(record, now()) === 'valid') {
      await assertLimits(redis, record).catch((error: unknown) => {
        throw error instanceof InvalidOperation
          ? new InvalidOperation(`line ${line}: ${error.message}`)
          : error;
      });
    }
    return 'absent';
  }

  /** A customer that is present stays as it is. */
  async function addCustomer(customer: CustomerRecord): Promise<void> {
    await listPlan(redis, customer);
    if ((await redis.exists(redisKeys.customer(customer.id))) === 0) {
      const fields = { ...formatCustomerRecord(customer), rev: String(customer.rev) };
      const { keys, args } = recordChangeCall({ customerId: customer.id, rev: 0, customer: fields });
      await redis.changeRecord(keys.length, ...keys, ...args);
    }
    await addCustomerToIndex({ redis, now }, customer);
  }

  async function add({
    sha256,
    customer: _added,
    ...record
  }: TransferredKey): Promise<'added' | 'unchanged'> {
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
    // The record first: reindexKeys removes ids without one from the index.
    const rev = await redis.changeRecord(keys.length, ...keys, ...args);
    await addToIndex({ redis, now }, record, { customerId, keyHash: sha256 });
    // Another operator is importing the same file.
    return rev === 0 ? 'unchanged' : 'added';
  }
}

function customerOf({ customerId, customer, ...record }: TransferredKey): CustomerRecord {
  const { plan, temporary, trial, suspendedAt, rev } = record;
  return { id: customerId, ...customer, plan, ...limitsIn(record), temporary, trial, suspendedAt, rev };
}

async function* parseLines(
  lines: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<{ key: TransferredKey; line: number }> {
  let line = 0;
  for await (const text of lines) {
    line += 1;
    if (text.trim() === '') continue;
    let json: unknown;
    try {
      json = JSON.parse(line === 1 ? text.replace(/^\u{FEFF}/u, '') : text);
    } catch {
      throw new InvalidOperation(`line ${line} is not JSON`);
    }
    const parsed = lineSchema.safeParse(json);
    if (!parsed.success) {
      throw new InvalidOperation(`line ${line}: ${describeIssues(parsed.error).join('; ')}`);
    }
    // Without one, it was exported by a version in which a key had no customer.
    const { customerId = ownCustomerId(parsed.data.id), name, createdAt } = parsed.data;
    const { customer = { name, createdAt } } = parsed.data;
    yield { key: { ...parsed.data, customerId, customer }, line };
  }
}

/** The same whenever the file is imported. */
function ownCustomerId(keyId: string): CustomerId {
  return `cus_${keyId.replace(/^key_/, '').slice(0, 96)}`;
}

/** Compares all fields but `rev`, which writing raises. */
function isSameRecord(one: ComparedKey, other: ComparedKey): boolean {
  return JSON.stringify(fieldsOf(one)) === JSON.stringify(fieldsOf(other));
}

interface ComparedKey {
  record: ApiKeyRecord;
  customer: CustomerRecord;
}

function fieldsOf({ record, customer }: ComparedKey) {
  return [formatApiKeyRecord(record), formatCustomerRecord(customer)];
}
