import { randomBytes } from 'node:crypto';
import { apiKeyState, formatApiKeyRecord, readApiKey, recordExpiry } from '../../keys/api-key-record.ts';
import { formatCustomerRecord, type CustomerRecord } from '../../keys/customer-record.ts';
import { limitsIn } from '../../limits/limits.ts';
import { createHashReader } from '../../platform/redis/hash-reader.ts';
import type { RecordChange } from '../../platform/redis/record-change.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import { markSetUp } from '../../platform/redis/set-up-marker.ts';
import { assertLimits, listPlan } from '../customers/permitted-limits.ts';
import { addCustomerToIndex, findCustomer } from '../customers/stored-customers.ts';
import { InvalidOperation } from '../invalid-operation.ts';
import { recordChangeCall } from '../record-change-call.ts';
import type { ReadingSession } from '../session.ts';
import { scheduleExpiry } from '../webhooks/event-queue.ts';
import { addToIndex, placeOf, placeOfHash } from './stored-keys.ts';
import { isKey, parseLines, type TransferredCustomer, type TransferredKey } from './transfer-lines.ts';

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
  { redis, audit, now }: ReadingSession & { audit: RecordChange },
): Promise<ImportResult> {
  const result: ImportResult = { added: 0, unchanged: 0, differing: 0, outdated: 0 };
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
    await writeBatch(absent, { fileSha256: sha256(), audit }, async (line) => {
      result[await add(line)] += 1;
    });
    const expiring = absent
      .filter(isKey)
      .flatMap(({ id: keyId, expiresAt }) => (expiresAt ? [{ keyId, expiresAt }] : []));
    await scheduleExpiry(redis, expiring, now());
  }
  await markSetUp(redis);
  return result;

  async function checkKey(key: TransferredKey): Promise<Outcome> {
    const { sha256: keyHash } = key;
    const [indexed, place] = await Promise.all([placeOf(redis, key.id), placeOfHash(redis, keyHash)]);
    if (indexed !== undefined && indexed.keyHash !== keyHash) {
      throw new InvalidOperation(`${key.id} is the id of another key in this Redis`);
    }
    const at = place ?? { customerId: key.customerId, keyHash };
    // Redis may have lost the customer alone.
    const hasCustomer = (await redis.exists(redisKeys.customer(at.customerId))) === 1;
    const found = hasCustomer ? await readApiKey(createHashReader(redis), at) : undefined;
    if (found !== undefined) {
      const { record, customer } = found;
      if (record.id !== key.id) {
        throw new InvalidOperation(`the key of ${key.id} has the id ${record.id} in this Redis`);
      }
      // The index may have been lost alone.
      await addToIndex(redis, key, at);
      const isSame = JSON.stringify(formatApiKeyRecord(record)) === JSON.stringify(formatApiKeyRecord(key));
      return isSame && isSameCustomer(customer, customerOf(key)) ? 'unchanged' : 'differing';
    }
    const end = recordExpiry(key);
    if (end !== '' && end * 1000 <= now()) return 'outdated';
    if (apiKeyState(key, now()) === 'valid') await assertLimits(redis, key);
    return 'absent';
  }

  async function checkCustomer(line: TransferredCustomer): Promise<Outcome> {
    const customer = customerOf(line);
    const found = await findCustomer(redis, customer.id);
    if (found !== undefined) {
      await addCustomerToIndex(redis, customer);
      return isSameCustomer(found, customer) ? 'unchanged' : 'differing';
    }
    if (customer.suspendedAt === undefined) await assertLimits(redis, customer);
    return 'absent';
  }

  /** A customer that is present stays as it is. Another operator may be importing the same file. */
  async function add(line: TransferredKey | TransferredCustomer): Promise<'added' | 'unchanged'> {
    const customer = customerOf(line);
    const { id: customerId, rev } = customer;
    await listPlan(redis, customer);
    await addCustomerToIndex(redis, customer);
    let written = 0;
    if ((await redis.exists(redisKeys.customer(customerId))) === 0) {
      const fields = { ...formatCustomerRecord(customer), rev: String(rev) };
      written = await write({ customerId, rev: 0, customer: fields });
    }
    if (isKey(line)) {
      const keyHash = line.sha256;
      await addToIndex(redis, line, { customerId, keyHash });
      const key = { keyHash, fields: formatApiKeyRecord(line), expiry: recordExpiry(line), isNew: true };
      written += await write({ customerId, rev: '', key });
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

/** Compares all fields but `rev`, which writing raises. */
function isSameCustomer(one: CustomerRecord, other: CustomerRecord): boolean {
  return JSON.stringify(formatCustomerRecord(one)) === JSON.stringify(formatCustomerRecord(other));
}

const batchSize = 100;

/**
 * Writes the lines of a file as one audit entry, which is made before the first one is written: an entry for each would drive
 * all others out of the log. If it ends early, a second entry has the number of written lines, unless Redis is unavailable.
 */
export async function writeBatch<Line extends { plan: string }>(
  lines: readonly Line[],
  { fileSha256, audit }: { fileSha256: string; audit: RecordChange },
  write: (line: Line) => Promise<void>,
): Promise<void> {
  const target = `batch_${randomBytes(6).toString('hex')}`;
  const count = lines.length;
  const byPlan = Map.groupBy(lines, ({ plan }) => plan);
  const plans = Object.fromEntries(Array.from(byPlan, ([plan, { length }]) => [plan, length]));
  await audit({ action: 'keys.import', target, before: null, after: { count, fileSha256, plans } });
  let written = 0;
  try {
    for (let start = 0; start < count; start += batchSize) {
      const batch = lines.slice(start, start + batchSize);
      // All of a batch end before an error is thrown, so that the number is exact.
      const settled = await Promise.allSettled(batch.map((line) => write(line)));
      const failed = settled.filter((outcome) => outcome.status === 'rejected');
      written += batch.length - failed.length;
      if (failed[0] !== undefined) throw failed[0].reason;
    }
  } finally {
    if (written < count) {
      const change = { before: { count }, after: { count: written } };
      // The error that ended the batch is the one to report.
      await audit({ action: 'keys.import.incomplete', target, ...change }).catch(() => {});
    }
  }
}
