import { z } from 'zod';
import { expiryText, type ApiKeyRecord, type OwnFields } from '../api-keys/api-key-record.ts';
import type { CustomerLimits, CustomerRecord } from '../api-keys/customer-record.ts';
import { describeIssues } from '../config/describe-issues.ts';
import { byText, textsIn, type CustomerText } from '../limits/customer-texts.ts';
import { limitsIn, maxLimit } from '../limits/limits.ts';
import { forAll } from '../limits/windows.ts';
import { isCustomerId, type CustomerId } from '../redis/redis-keys.ts';
import { InvalidOperation } from './invalid-operation.ts';
import { keyIdPattern, scopesInput } from './key-input.ts';
import type { PlacedKey } from './stored-keys.ts';

/** A customer in an export: a line of its own if it has no key there, otherwise a part of the line of each key. */
export interface TransferredCustomer
  extends CustomerLimits, Pick<ApiKeyRecord, 'customerId' | 'suspendedAt' | 'rev'> {
  /** What the record of a key does not have of its customer. */
  customer: Pick<CustomerRecord, 'name' | 'createdAt' | CustomerText>;
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
  ...textsIn(record),
});

const limit = z.number().int().min(1).max(maxLimit).optional();
/** Writing raises rev by at least one, and it has at most 15 digits. */
const maxRev = 999_999_999_999_998;

const customerId = z.string().refine(isCustomerId, 'is not cus_ and 1 to 96 letters, digits, _ and -');
const customer = z.strictObject({
  name: z.string(),
  createdAt: z.string(),
  ...byText(() => z.string().optional()),
});

/** As permissive as a record in Redis but for the id: whatever has a valid one can be exported and imported. */
const customerSchema = z.strictObject({
  customerId,
  customer,
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
  customerId: customerId.optional(),
  customer: customer.optional(),
  name: z.string(),
  hint: z.string(),
  createdAt: z.string(),
  expiresAt: expiryText.optional(),
  scopes: scopesInput.optional(),
  revokedAt: z.string().min(1).optional(),
  replaces: z.string().optional(),
  replacedBy: z.string().optional(),
} satisfies Record<keyof OwnFields, z.ZodType> & Record<string, z.ZodType>);

/** What a line of a file has. */
export type ParsedLine = { line: number } & (
  { key: TransferredKey } | { key: undefined; customer: TransferredCustomer }
);

/** @throws InvalidOperation that names the line */
export async function* parseLines(
  lines: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<ParsedLine> {
  let line = 0;
  for await (const text of lines) {
    line += 1;
    if (text.trim() === '') continue;
    const parsed = parseLine(line === 1 ? text.replace(/^\u{FEFF}/u, '') : text, line);
    yield { ...parsed, line };
  }
}

function parseLine(text: string, line: number) {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new InvalidOperation(`line ${line} is not JSON`);
  }
  if (isOfCustomer(json)) return { key: undefined, customer: parseAs(customerSchema, json, line) };
  const parsed = parseAs(keySchema, json, line);
  // Without one, it was exported by a version in which a key had no customer.
  const { customerId = ownCustomerId(parsed.id), name, createdAt, customer = { name, createdAt } } = parsed;
  return { key: { ...parsed, customerId, customer } };
}

/** Whether a line has a customer and nothing that a key needs. */
function isOfCustomer(json: unknown): boolean {
  return (
    typeof json === 'object' &&
    json !== null &&
    'customer' in json &&
    ['sha256', 'id', 'hint'].every((field) => !(field in json))
  );
}

function parseAs<Schema extends z.ZodType>(schema: Schema, json: unknown, line: number): z.infer<Schema> {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new InvalidOperation(`line ${line}: ${describeIssues(parsed.error).join('; ')}`);
}

/** The same whenever the file is imported. */
function ownCustomerId(keyId: string): CustomerId {
  return `cus_${keyId.replace(/^key_/, '').slice(0, 96)}`;
}
