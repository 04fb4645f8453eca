import { describeIssues } from '#runtime/error-message.ts';
import { z } from 'zod';
import {
  timeText,
  type ApiKeyRecord,
  type CustomerLimits,
  type CustomerRecord,
  type OwnFields,
} from '../../keys/records.ts';
import { limitsIn, maxLimit } from '../../limits/limits.ts';
import {
  byKind,
  customerFields,
  fieldsIn,
  keyFields,
  type RecordFields,
} from '../../limits/record-fields.ts';
import { forAll } from '../../limits/windows.ts';
import { isCustomerId } from '../../platform/redis/redis-keys.ts';
import { parseJson } from '../../platform/redis/redis-values.ts';
import { InvalidOperation } from '../invalid-operation.ts';
import { keyIdPattern, scopesInput } from './key-input.ts';
import type { PlacedKey } from './stored-keys.ts';

/** A customer in an export: a line of its own if it has no key there, otherwise a part of the line of each key. */
export interface TransferredCustomer
  extends CustomerLimits, Pick<ApiKeyRecord, 'customerId' | 'suspendedAt' | 'rev'> {
  /** What the record of a key does not have of its customer. */
  customer: Pick<CustomerRecord, 'name' | 'createdAt' | keyof typeof customerFields>;
}

/** A key in an export. It contains the hash of the key and not the key, so nobody can use it as a credential. */
export interface TransferredKey extends ApiKeyRecord, TransferredCustomer {
  sha256: string;
}

/** Formats a line of a file that importKeys reads. */
export function exportLine({ place, record, customer }: PlacedKey): string {
  const { keyHash } = place;
  return JSON.stringify({
    sha256: keyHash,
    ...record,
    customer: describe(customer),
  } satisfies TransferredKey);
}

/** The same for a customer without a key in the file. */
export function customerLine(record: CustomerRecord): string {
  const { id: customerId, plan, suspendedAt, rev } = record;
  return JSON.stringify({
    customerId,
    customer: describe(record),
    plan,
    ...limitsIn(record),
    suspendedAt,
    rev,
  } satisfies TransferredCustomer);
}

const describe = ({ name, createdAt, ...record }: CustomerRecord) => ({
  name,
  createdAt,
  ...fieldsIn(customerFields, record),
});

const limit = z.number().int().min(1).max(maxLimit).optional();
/** Writing raises rev by at least one, and it has at most 15 digits. */
const maxRev = 999_999_999_999_998;

const transferredFields = <Of extends RecordFields>(fields: Of) =>
  byKind(fields, {
    text: () => z.string().optional(),
    time: () => timeText.optional(),
    scopes: () => scopesInput.optional(),
  });

/** As permissive as a record in Redis but for the id: whatever has a valid one can be exported and imported. */
const customerSchema = z.strictObject({
  customerId: z.string().refine(isCustomerId, 'is not cus_ and 1 to 96 letters, digits, _ and -'),
  customer: z.strictObject({
    name: z.string(),
    createdAt: timeText,
    ...transferredFields(customerFields),
  }),
  plan: z.string().min(1),
  ...forAll(() => limit),
  suspendedAt: z.string().min(1).optional(),
  rev: z.number().int().min(0).max(maxRev),
});

/** The same for a key. */
const keySchema = customerSchema.extend({
  sha256: z.string().regex(/^[\da-f]{64}$/, 'is not a SHA-256 in hexadecimal'),
  id: z
    .string()
    .regex(keyIdPattern, 'is not 1 to 100 letters, digits, _ and -')
    .refine((id) => !isCustomerId(id), 'is the id of a customer'),
  name: z.string(),
  hint: z.string(),
  createdAt: timeText,
  ...transferredFields(keyFields),
  revokedAt: z.string().min(1).optional(),
  replaces: z.string().optional(),
  replacedBy: z.string().optional(),
} satisfies Record<keyof OwnFields, z.ZodType> & Record<string, z.ZodType>);

type TransferredLine = TransferredKey | TransferredCustomer;

export const isKey = (line: TransferredLine): line is TransferredKey => 'sha256' in line;

/** The lines that are not empty, with their numbers. @throws InvalidOperation that names the line */
export async function* parseLines(
  lines: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<[number: number, line: TransferredLine]> {
  let number = 0;
  for await (const text of lines) {
    number += 1;
    if (text.trim() === '') continue;
    yield [number, parseLine(number === 1 ? text.replace(/^\u{FEFF}/u, '') : text, number)];
  }
}

function parseLine(text: string, number: number): TransferredLine {
  const json = parseJson(text);
  if (json === undefined) throw new InvalidOperation(`line ${number} is not JSON`);
  const isOfKey =
    typeof json === 'object' && json !== null && ['sha256', 'id', 'hint'].some((field) => field in json);
  const parsed = (isOfKey ? keySchema : customerSchema).safeParse(json);
  if (parsed.success) return parsed.data;
  throw new InvalidOperation(`line ${number}: ${describeIssues(parsed.error).join('; ')}`);
}
