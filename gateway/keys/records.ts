import { describeIssues } from '#runtime/error-message.ts';
import { z } from 'zod';
import { limitIssue, limitsIn, parseLimit, type Limits } from '../limits/limits.ts';
import {
  byKind,
  customerFields,
  keyFields,
  scopePattern,
  textIn,
  type RecordFields,
} from '../limits/record-fields.ts';
import { forAll } from '../limits/windows.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import { UnexpectedValue } from '../platform/redis/redis-errors.ts';
import { redisKeys, type CustomerId, type KeyPlace } from '../platform/redis/redis-keys.ts';
import { readHash } from '../platform/redis/redis-values.ts';

/** What limits the requests of a customer, with all of its API keys together. */
export interface CustomerLimits extends Limits {
  plan: string;
}

const nonEmptyString = z.string({ error: 'is missing' }).min(1, 'is missing');

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
const storedFields = <Of extends RecordFields>(fields: Of) =>
  byKind(fields, {
    text: () => z.string().optional(),
    time: () => timeText.optional(),
    scopes: () => scopesText.optional(),
  });

const limitText = z
  .string()
  .refine((text) => parseLimit(text) !== undefined, { error: limitIssue })
  .transform(Number);

const customerSchema = z.object({
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
export interface CustomerRecord extends z.infer<typeof customerSchema> {
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
  return { id, ...parseRecord(redisKeys.customer(id), customerSchema, fields) };
}

/** @throws UnexpectedValue that names the Redis key of the record, if its fields are not those of the schema */
function parseRecord<Schema extends z.ZodType>(
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
const formatRecord = (names: readonly string[], record: object): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, textIn(record, name)]));

const customerNames = ['id', ...customerSchema.omit({ rev: true }).keyof().options];

/** Formats a record as fields of its hash, without `rev`, which change-record.lua sets. */
export const formatCustomerRecord = (record: CustomerRecord) => formatRecord(customerNames, record);

const keySchema = z.object({
  id: nonEmptyString,
  name: z.string().default(''),
  /** First characters of the key, for people. */
  hint: z.string().default(''),
  createdAt: z.string().default(''),
  ...storedFields(keyFields),
  /** Any text counts: a key that somebody meant to revoke stays revoked. */
  revokedAt: z.string().min(1).optional(),
  /** Id of the key that this one replaces. */
  replaces: z.string().optional(),
  /** Id of the key that replaces this one. */
  replacedBy: z.string().optional(),
});

/** What a key has of its own: the fields of the hash gw:key:{<customer id>}:<key hash>. Times are ISO 8601 in UTC. */
export type OwnFields = z.infer<typeof keySchema>;

/** An API key with what it has of its customer: plan and limits. */
export interface ApiKeyRecord extends CustomerLimits, OwnFields {
  customerId: CustomerId;
  /** Since when the customer is suspended. */
  suspendedAt?: string | undefined;
  /** That of the customer: an instance whose cached copy has another number reads the record again. */
  rev: number;
}

/** An API key as it is in Redis. */
export interface StoredApiKey {
  record: ApiKeyRecord;
  customer: CustomerRecord;
}

/** Reads a key with its customer, whose `rev` is not newer than the key. @returns and throws what parseApiKey does */
export async function readApiKey(
  redis: Pick<RedisClient, 'hgetall'>,
  place: KeyPlace,
): Promise<StoredApiKey | undefined> {
  const [customer, key] = await Promise.all([
    readHash(redis, redisKeys.customer(place.customerId)),
    readHash(redis, redisKeys.apiKey(place)),
  ]);
  return parseApiKey(place, { customer, key });
}

/**
 * Parses the fields of a key and of its customer as HGETALL returns them.
 * @returns undefined if there is no such key
 * @throws UnexpectedValue if one of the two was edited by hand into something that is not a record
 */
export function parseApiKey(
  place: KeyPlace,
  fields: { customer: Readonly<Record<string, string>>; key: Readonly<Record<string, string>> },
): StoredApiKey | undefined {
  if (Object.keys(fields.key).length === 0) return undefined;
  const { customerId } = place;
  const own = parseRecord(redisKeys.apiKey(place), keySchema, fields.key);
  const customer = parseCustomerRecord(customerId, fields.customer);
  if (customer === undefined) {
    throw new UnexpectedValue(redisKeys.customer(customerId), 'is missing: import it, or delete its keys');
  }
  const { plan, suspendedAt, rev } = customer;
  return { record: { ...own, customerId, plan, ...limitsIn(customer), suspendedAt, rev }, customer };
}

type ApiKeyState = 'active' | 'expired' | 'revoked' | 'suspended';

/** @param nowMs milliseconds since the Unix epoch */
export function apiKeyState(
  { revokedAt, expiresAt, suspendedAt }: Pick<ApiKeyRecord, 'revokedAt' | 'expiresAt' | 'suspendedAt'>,
  nowMs: number,
): ApiKeyState {
  if (revokedAt !== undefined) return 'revoked';
  if (expiresAt !== undefined && Date.parse(expiresAt) <= nowMs) return 'expired';
  return suspendedAt === undefined ? 'active' : 'suspended';
}

/** Scopes that a key lacks. @param scopes of a key; undefined for all */
export function missingScopes(needed: readonly string[], scopes: readonly string[] | undefined): string[] {
  return scopes === undefined ? [] : needed.filter((scope) => !scopes.includes(scope));
}

/** Formats the key's own part as fields of its hash. */
export const formatApiKeyRecord = (record: ApiKeyRecord) => formatRecord(keySchema.keyof().options, record);

/** Revoked and expired records are kept this long, so that clients learn which of the two applies. */
export const keptSeconds = 90 * 86_400;

/** @returns Unix seconds at which Redis may delete the record, or '' if it is kept for good */
export function recordExpiry({ expiresAt, revokedAt }: Partial<ApiKeyRecord>): number | '' {
  const ends = [expiresAt, revokedAt].flatMap((time) => (time === undefined ? [] : [Date.parse(time)]));
  const known = ends.filter((end) => Number.isFinite(end));
  return known.length === 0 ? '' : Math.ceil(Math.min(...known) / 1000) + keptSeconds;
}
