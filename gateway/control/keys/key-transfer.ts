import { randomBytes } from 'node:crypto';
import { apiKeyState, formatCustomerRecord, recordExpiry, type CustomerRecord } from '../../keys/records.ts';
import { limitsIn } from '../../limits/limits.ts';
import type { RecordChange } from '../../platform/redis/record-change.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import { markSetUp } from '../../platform/redis/set-up-marker.ts';
import { assertLimits, listPlan } from '../customers/permitted-limits.ts';
import { addCustomerToIndex } from '../customers/stored-customers.ts';
import { InvalidOperation } from '../invalid-operation.ts';
import { recordChangeCall } from '../record-change-call.ts';
import type { ReadingSession } from '../session.ts';
import { scheduleExpiry } from '../webhooks/event-queue.ts';
import { addToIndex, placeOf, placeOfHash } from './stored-keys.ts';
import { isKey, parseLines, type TransferredCustomer, type TransferredKey } from './transfer-lines.ts';

/** Numbers of records of a file, by outcome: those of keys, and of customers that have no key in it. */
export interface ImportResult {
  added: number;
  /** Present, perhaps changed since the export: not touched. */
  unchanged: number;
  /** Revoked or expired for longer than records are kept. */
  outdated: number;
}

/** A file of exported records. */
export interface ExportFile {
  lines: AsyncIterable<string> | Iterable<string>;
  /** Hexadecimal SHA-256 of the file, known when all lines are read. */
  sha256(): string;
}

const batchSize = 100;

/**
 * Imports exported records, as one audit entry: an entry for each would drive all others out of the log. All lines are checked
 * before the first one is written, so that an invalid file changes nothing. Present records are not touched, so that importing
 * twice is the same as once, also after an import that ended early.
 * @throws InvalidOperation that names the line
 */
export async function importKeys(
  { lines, sha256 }: ExportFile,
  { redis, audit, now }: ReadingSession & { audit: RecordChange },
): Promise<ImportResult> {
  const result: ImportResult = { added: 0, unchanged: 0, outdated: 0 };
  const absent: (TransferredKey | TransferredCustomer)[] = [];
  const seen = new Map<string, number>();
  for await (const [number, line] of parseLines(lines)) {
    try {
      for (const name of isKey(line) ? [line.id, line.sha256] : [line.customerId]) {
        const earlier = seen.get(name);
        if (earlier !== undefined) throw new InvalidOperation(`${name} is in line ${earlier}, too`);
        seen.set(name, number);
      }
      const outcome = isKey(line) ? await checkKey(line) : await checkCustomer(line);
      if (outcome === 'absent') absent.push(line);
      else result[outcome] += 1;
    } catch (error) {
      if (error instanceof InvalidOperation) throw new InvalidOperation(`line ${number}: ${error.message}`);
      throw error;
    }
  }
  if (absent.length > 0) {
    const target = `batch_${randomBytes(6).toString('hex')}`;
    const after = { count: absent.length, fileSha256: sha256() };
    await audit({ action: 'keys.import', target, before: null, after });
  }
  for (let start = 0; start < absent.length; start += batchSize) {
    const outcomes = await Promise.all(absent.slice(start, start + batchSize).map((line) => add(line)));
    for (const outcome of outcomes) result[outcome] += 1;
  }
  const expiring = absent
    .filter(isKey)
    .flatMap(({ id: keyId, expiresAt }) => (expiresAt ? [{ keyId, expiresAt }] : []));
  await scheduleExpiry(redis, expiring, now());
  await markSetUp(redis);
  return result;

  async function checkKey(key: TransferredKey): Promise<'absent' | 'unchanged' | 'outdated'> {
    const { customerId, sha256: keyHash } = key;
    const [indexed, place = { customerId, keyHash }] = await Promise.all([
      placeOf(redis, key.id),
      placeOfHash(redis, keyHash),
    ]);
    if (indexed !== undefined && indexed.keyHash !== keyHash) {
      throw new InvalidOperation(`${key.id} is the id of another key in this Redis`);
    }
    const id = await redis.hget(redisKeys.apiKey(place), 'id');
    if (id !== null && id !== key.id) {
      throw new InvalidOperation(`the key of ${key.id} has the id ${id} in this Redis; leave this line out`);
    }
    // Redis may have lost the customer alone.
    if (id !== null && (await hasCustomer(place))) {
      // Or the index.
      await addToIndex(redis, key, place);
      return 'unchanged';
    }
    const end = recordExpiry(key);
    if (end !== '' && end * 1000 <= now()) return 'outdated';
    if (apiKeyState(key, now()) === 'active') await assertLimits(redis, key);
    return 'absent';
  }

  async function checkCustomer(line: TransferredCustomer): Promise<'absent' | 'unchanged'> {
    const customer = customerOf(line);
    if (await hasCustomer(line)) {
      await addCustomerToIndex(redis, customer);
      return 'unchanged';
    }
    if (customer.suspendedAt === undefined) await assertLimits(redis, customer);
    return 'absent';
  }

  async function hasCustomer({ customerId }: Pick<TransferredCustomer, 'customerId'>): Promise<boolean> {
    return (await redis.exists(redisKeys.customer(customerId))) === 1;
  }

  /** A customer that is present stays as it is. Another operator may be importing the same file. */
  async function add(line: TransferredKey | TransferredCustomer): Promise<'added' | 'unchanged'> {
    const customer = customerOf(line);
    const { id: customerId, rev } = customer;
    await listPlan(redis, customer);
    await addCustomerToIndex(redis, customer);
    let written = 0;
    if (!(await hasCustomer(line))) {
      const fields = { ...formatCustomerRecord(customer), rev: String(rev) };
      written = await write({ customerId, rev: 0, customer: fields });
    }
    if (isKey(line)) {
      const keyHash = line.sha256;
      await addToIndex(redis, line, { customerId, keyHash });
      written += await write({ customerId, rev: '', key: { keyHash, record: line, isNew: true } });
    }
    return written === 0 ? 'unchanged' : 'added';
  }

  function write(change: Parameters<typeof recordChangeCall>[0]): Promise<number> {
    const { keys, args } = recordChangeCall(change);
    return redis.changeRecord(keys.length, ...keys, ...args);
  }
}

function customerOf({ customerId, customer, ...record }: TransferredCustomer): CustomerRecord {
  const { plan, suspendedAt, rev } = record;
  return { id: customerId, ...customer, plan, ...limitsIn(record), suspendedAt, rev };
}
