import { z } from 'zod';
import { scopePattern } from '../limits/access.ts';
import { limitIssue, parseLimit, type Limits } from '../limits/limits.ts';
import { byKind, customerFields, textIn, type RecordFields } from '../limits/record-fields.ts';
import { forAll } from '../limits/windows.ts';
import { describeIssues } from '../platform/config/describe-issues.ts';
import { UnexpectedValue } from '../platform/redis/redis-errors.ts';
import { redisKeys, type CustomerId } from '../platform/redis/redis-keys.ts';

/** What limits the requests of a customer, with all of its API keys together. */
export interface CustomerLimits extends Limits {
  plan: string;
}

export const nonEmptyString = z.string({ error: 'is missing' }).min(1, 'is missing');

/** Time as text. */
export const timeText = z.union([z.iso.datetime({ offset: true }), z.iso.date()], {
  error: 'is not an ISO 8601 time',
});

/** Scopes as text, separated by spaces as in RFC 6749 section 3.3. */
const scopesText = z
  .string()
  .min(1, 'is empty')
  .transform((text): readonly string[] => text.split(' '))
  .refine((scopes) => scopes.every((scope) => scopePattern.test(scope)), 'is not scopes separated by spaces');

/** Schemas of fields as they are stored. */
export const storedFields = <Of extends RecordFields>(fields: Of) =>
  byKind(fields, {
    text: () => z.string().optional(),
    time: () => timeText.optional(),
    scopes: () => scopesText.optional(),
  });

const limitText = z
  .string()
  .refine((text) => parseLimit(text) !== undefined, { error: limitIssue })
  .transform(Number);

const recordSchema = z.object({
  name: z.string().default(''),
  plan: nonEmptyString,
  createdAt: z.string().default(''),
  ...storedFields(customerFields),
  /** Any text counts: a customer that somebody meant to suspend stays suspended. */
  suspendedAt: z.string().min(1).optional(),
  ...forAll(() => limitText.optional()),
  /** Raised with every change of the customer or of one of its keys: see consume.lua. */
  rev: z
    .string()
    .regex(/^\d{1,15}$/, 'is not a whole number')
    .default('0')
    .transform(Number),
});

/**
 * Record of a customer in Redis, in the hash gw:customer:{<customer id>}. Times are ISO 8601 in UTC. Its own limits, in place
 * of the plan's, are in the fields `minute`, `day` and so on.
 */
export interface CustomerRecord extends z.infer<typeof recordSchema> {
  id: CustomerId;
}

/**
 * Parses the fields of a record as HGETALL returns them.
 * @returns undefined if there is no record
 * @throws UnexpectedValue if the hash was edited by hand into something that is not a record
 */
export function parseCustomerRecord(
  id: CustomerId,
  fields: Readonly<Record<string, string>>,
): CustomerRecord | undefined {
  if (Object.keys(fields).length === 0) return undefined;
  return { id, ...parseRecord(redisKeys.customer(id), recordSchema, fields) };
}

/** @throws UnexpectedValue that names the Redis key of the record, if its fields are not those of the schema */
export function parseRecord<Schema extends z.ZodType>(
  key: string,
  schema: Schema,
  fields: Readonly<Record<string, string>>,
): z.output<Schema> {
  const parsed = schema.safeParse(fields);
  if (parsed.success) return parsed.data;
  const issues = describeIssues(parsed.error).join('; ');
  throw new UnexpectedValue(key, `is invalid (${issues}): restore or delete it`);
}

/** Formats a record as fields of its hash. An empty value stands for a field that it must not have. */
export const formatRecord = (names: readonly string[], record: object): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, textIn(record, name)]));

const writtenNames = ['id', ...recordSchema.omit({ rev: true }).keyof().options];

/** The same for a customer, without `rev`, which change-record.lua sets. */
export const formatCustomerRecord = (record: CustomerRecord) => formatRecord(writtenNames, record);
