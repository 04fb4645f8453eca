import { randomBytes } from 'node:crypto';
import { describeIssues } from '#runtime/error-message.ts';
import { z } from 'zod';
import {
  apiKeyState,
  formatApiKeyRecord,
  formatCustomerRecord,
  parseApiKey,
  parseCustomerRecord,
  recordExpiry,
  timeText,
  type CustomerRecord,
} from '../../keys/records.ts';
import { UnexpectedValue } from '../../platform/redis/redis-errors.ts';
import { isCustomerId, redisKeys, type CustomerId } from '../../platform/redis/redis-keys.ts';
import { parseJson } from '../../platform/redis/redis-values.ts';
import { markSetUp } from '../../platform/redis/set-up-marker.ts';
import { assertLimits, listPlan } from '../customers/permitted-limits.ts';
import { addCustomerToIndex } from '../customers/stored-customers.ts';
import { InvalidOperation } from '../invalid-operation.ts';
import { recordChangeCall } from '../record-change-call.ts';
import type { Session } from '../session.ts';
import { scheduleExpiry } from '../webhooks/event-queue.ts';
import { keyIdPattern } from './key-input.ts';
import { addToIndex, placeOf, placeOfHash, type PlacedKey } from './stored-keys.ts';

/** A customer in an export: a line of its own if it has no key there, otherwise with each key. */
export interface TransferredCustomer {
  customer: CustomerRecord;
}

type TransferredLine = TransferredCustomer | PlacedKey;

/** A line of a file that importKeys reads: records as Redis has them, with the hash of a key, which is no credential. */
export function exportLine(line: TransferredLine): string {
  const { id: customerId, rev } = line.customer;
  const customer = { ...given(formatCustomerRecord(line.customer)), rev: String(rev) };
  const key = isKey(line) && { sha256: line.place.keyHash, key: given(formatApiKeyRecord(line.record)) };
  return JSON.stringify({ customerId, customer, ...key });
}

const given = (fields: Record<string, string>) =>
  Object.fromEntries(Object.entries(fields).filter(([, text]) => text !== ''));

const isKey = (line: TransferredLine): line is PlacedKey => 'record' in line;

const fields = z
  .record(z.string(), z.string())
  .refine(
    ({ createdAt }) => createdAt === undefined || timeText.safeParse(createdAt).success,
    'has a createdAt that is not an ISO 8601 time',
  );
const lineSchema = z.strictObject(
  {
    customerId: z.string().refine(isCustomerId, 'is not cus_ and 1 to 96 letters, digits, _ and -'),
    // Each change raises rev, up to the 15 digits of a record.
    customer: fields.refine(({ rev = '0' }) => rev.length < 15, 'has a rev of more than 14 digits'),
    sha256: z
      .string()
      .regex(/^[\da-f]{64}$/, 'is not a SHA-256 in hexadecimal')
      .optional(),
    key: fields
      .refine(({ id = '' }) => keyIdPattern.test(id) && !isCustomerId(id), 'has no valid id')
      .optional(),
  },
  {
    error: ({ code }) =>
      code === 'unrecognized_keys' ? undefined : 'it is not JSON as ops keys export prints it',
  },
);

/** @throws InvalidOperation or UnexpectedValue for a line that is invalid */
export function parseLine(text: string): TransferredLine {
  const { data, error } = lineSchema.safeParse(parseJson(text));
  if (error !== undefined) throw new InvalidOperation(describeIssues(error).join('; '));
  const { customerId, sha256: keyHash, key } = data;
  if ((keyHash === undefined) !== (key === undefined))
    throw new InvalidOperation('sha256 and key belong together: one of them is missing');
  const customer = parseCustomerRecord(customerId, data.customer);
  if (customer === undefined) throw new InvalidOperation('customer is empty');
  if (keyHash === undefined || key === undefined) return { customer };
  const place = { customerId, keyHash };
  return { place, customer, ...parseApiKey(place, { customer: data.customer, key }) };
}

const batchSize = 100;

/**
 * Imports exported records, as one audit entry: an entry for each would drive all others out of the log. All lines are checked
 * before the first one is written, so that an invalid file changes nothing. Present records are not touched, so that importing
 * twice is the same as once, also after an import that ended early.
 * @returns numbers of records of the file: those of keys, and of customers that have no key in it. Unchanged ones are present,
 * perhaps changed since the export; outdated ones have ended for longer than records are kept.
 * @throws InvalidOperation that names the line
 */
export async function importKeys(
  lines: AsyncIterable<string> | Iterable<string>,
  { redis, audit, now }: Session,
) {
  const result = { added: 0, unchanged: 0, outdated: 0 };
  const absent: TransferredLine[] = [];
  const seen = new Map<string, number>();
  let number = 0;
  for await (const text of lines) {
    number += 1;
    if (text.trim() === '') continue;
    try {
      const line = parseLine(text);
      for (const name of isKey(line) ? [line.record.id, line.place.keyHash] : [line.customer.id]) {
        const earlier = seen.get(name);
        if (earlier !== undefined) throw new InvalidOperation(`${name} is in line ${earlier}, too`);
        seen.set(name, number);
      }
      const outcome = isKey(line) ? await checkKey(line) : await checkCustomer(line);
      if (outcome === 'absent') absent.push(line);
      else result[outcome] += 1;
    } catch (error) {
      if (error instanceof InvalidOperation || error instanceof UnexpectedValue)
        throw new InvalidOperation(`line ${number}: ${error.message}`);
      throw error;
    }
  }
  if (absent.length > 0) {
    const target = `batch_${randomBytes(6).toString('hex')}`;
    await audit({ action: 'keys.import', target, before: null, after: { count: absent.length } });
  }
  for (let start = 0; start < absent.length; start += batchSize) {
    const outcomes = await Promise.all(absent.slice(start, start + batchSize).map((line) => add(line)));
    for (const outcome of outcomes) result[outcome] += 1;
  }
  const expiring = absent
    .filter(isKey)
    .flatMap(({ record: { id: keyId, expiresAt } }) => (expiresAt ? [{ keyId, expiresAt }] : []));
  await scheduleExpiry(redis, expiring, now());
  await markSetUp(redis);
  return result;

  async function checkKey({ place, record }: PlacedKey): Promise<'absent' | 'unchanged' | 'outdated'> {
    const [indexed, known = place] = await Promise.all([
      placeOf(redis, record.id),
      placeOfHash(redis, place.keyHash),
    ]);
    if (indexed !== undefined && indexed.keyHash !== place.keyHash) {
      throw new InvalidOperation(`${record.id} is the id of another key in this Redis`);
    }
    const id = await redis.hget(redisKeys.apiKey(known), 'id');
    if (id !== null && id !== record.id) {
      throw new InvalidOperation(
        `the key of ${record.id} has the id ${id} in this Redis; leave this line out`,
      );
    }
    // Redis may have lost the customer alone.
    if (id !== null && (await hasCustomer(known.customerId))) {
      // Or the index.
      await addToIndex(redis, record, known);
      return 'unchanged';
    }
    const end = recordExpiry(record);
    if (end !== '' && end * 1000 <= now()) return 'outdated';
    if (apiKeyState(record, now()) === 'active') await assertLimits(redis, record);
    return 'absent';
  }

  async function checkCustomer({ customer }: TransferredCustomer): Promise<'absent' | 'unchanged'> {
    if (await hasCustomer(customer.id)) {
      await addCustomerToIndex(redis, customer);
      return 'unchanged';
    }
    if (customer.suspendedAt === undefined) await assertLimits(redis, customer);
    return 'absent';
  }

  async function hasCustomer(id: CustomerId): Promise<boolean> {
    return (await redis.exists(redisKeys.customer(id))) === 1;
  }

  /** A customer that is present stays as it is. Another operator may be importing the same file. */
  async function add(line: TransferredLine): Promise<'added' | 'unchanged'> {
    const { customer } = line;
    const { id: customerId, rev } = customer;
    await listPlan(redis, customer);
    await addCustomerToIndex(redis, customer);
    let written = 0;
    if (!(await hasCustomer(customerId))) {
      const record = { ...formatCustomerRecord(customer), rev: String(rev) };
      written = await write({ customerId, rev: 0, customer: record });
    }
    if (isKey(line)) {
      const { place, record } = line;
      await addToIndex(redis, record, place);
      written += await write({ customerId, rev: '', key: { keyHash: place.keyHash, record, isNew: true } });
    }
    return written === 0 ? 'unchanged' : 'added';
  }

  function write(change: Parameters<typeof recordChangeCall>[0]): Promise<number> {
    const { keys, args } = recordChangeCall(change);
    return redis.changeRecord(keys.length, ...keys, ...args);
  }
}
