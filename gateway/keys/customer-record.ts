import { z } from 'zod';
import { byText, type CustomerTexts } from '../limits/customer-texts.ts';
import { limitIssue, parseLimit, type Limits } from '../limits/limits.ts';
import { forAll, windowNames } from '../limits/windows.ts';
import { describeIssues } from '../platform/config/describe-issues.ts';
import { UnexpectedValue } from '../platform/redis/redis-errors.ts';
import { redisKeys, type CustomerId } from '../platform/redis/redis-keys.ts';

/** What limits the requests of a customer, with all of its API keys together. */
export interface CustomerLimits extends Limits {
  plan: string;
}

/**
 * Record of a customer in Redis, in the hash gw:customer:{<customer id>}. Times are ISO 8601 in UTC. Its own limits, in place
 * of the plan's, are in the fields `minute`, `day` and so on.
 */
export interface CustomerRecord extends CustomerLimits, CustomerTexts {
  id: CustomerId;
  name: string;
  createdAt: string;
  /** Since when all of its keys are refused. */
  suspendedAt?: string | undefined;
  /** Raised with every change of the customer or of one of its keys: see consume.lua. */
  rev: number;
}

export const nonEmptyString = z.string({ error: 'is missing' }).min(1, 'is missing');

const limitText = z
  .string()
  .refine((text) => parseLimit(text) !== undefined, { error: limitIssue })
  .transform(Number);

const recordSchema = z.object({
  name: z.string().default(''),
  plan: nonEmptyString,
  createdAt: z.string().default(''),
  ...byText(() => z.string().optional()),
  /** Any text counts: a customer that somebody meant to suspend stays suspended. */
  suspendedAt: z.string().min(1).optional(),
  ...forAll(() => limitText.optional()),
  rev: z
    .string()
    .regex(/^\d{1,15}$/, 'is not a whole number')
    .default('0')
    .transform(Number),
});

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

/** Formats what limits a customer as fields of its record. An empty value stands for a field that it must not have. */
export function formatCustomerLimits(limits: CustomerLimits): Record<string, string> {
  return {
    plan: limits.plan,
    ...Object.fromEntries(windowNames.map((window) => [window, String(limits[window] ?? '')])),
  };
}

/** The same for the whole record, without `rev`, which change-record.lua sets. */
export function formatCustomerRecord(record: CustomerRecord): Record<string, string> {
  const { id, name, createdAt, suspendedAt = '' } = record;
  const texts = byText((text) => record[text] ?? '');
  return { id, name, createdAt, ...texts, suspendedAt, ...formatCustomerLimits(record) };
}
