import { z } from 'zod';
import { limitsIn } from '../limits/limits.ts';
import { keyFields } from '../limits/record-fields.ts';
import type { HashReader } from '../platform/redis/hash-reader.ts';
import { UnexpectedValue } from '../platform/redis/redis-errors.ts';
import { redisKeys, type CustomerId, type KeyPlace } from '../platform/redis/redis-keys.ts';
import {
  formatRecord,
  nonEmptyString,
  parseCustomerRecord,
  parseRecord,
  storedFields,
  type CustomerLimits,
  type CustomerRecord,
} from './customer-record.ts';

const recordSchema = z.object({
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
export type OwnFields = z.infer<typeof recordSchema>;

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

/** Reads a key with its customer, both at the same moment. @returns and throws what parseApiKey does */
export async function readApiKey(
  hashes: Pick<HashReader, 'readBoth'>,
  place: KeyPlace,
): Promise<StoredApiKey | undefined> {
  const [customer, key] = await hashes.readBoth(
    redisKeys.customer(place.customerId),
    redisKeys.apiKey(place),
  );
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
  const own = parseRecord(redisKeys.apiKey(place), recordSchema, fields.key);
  const customer = parseCustomerRecord(customerId, fields.customer);
  if (customer === undefined) {
    throw new UnexpectedValue(redisKeys.customer(customerId), 'is missing: import it, or delete its keys');
  }
  const { plan, suspendedAt, rev } = customer;
  return { record: { ...own, customerId, plan, ...limitsIn(customer), suspendedAt, rev }, customer };
}

export type ApiKeyState = 'valid' | 'expired' | 'revoked' | 'suspended';

/** @param nowMs milliseconds since the Unix epoch */
export function apiKeyState(
  { revokedAt, expiresAt, suspendedAt }: Pick<ApiKeyRecord, 'revokedAt' | 'expiresAt' | 'suspendedAt'>,
  nowMs: number,
): ApiKeyState {
  if (revokedAt !== undefined) return 'revoked';
  if (expiresAt !== undefined && Date.parse(expiresAt) <= nowMs) return 'expired';
  return suspendedAt === undefined ? 'valid' : 'suspended';
}

/** Formats the key's own part as fields of its hash. */
export const formatApiKeyRecord = (record: ApiKeyRecord) =>
  formatRecord(recordSchema.keyof().options, record);

/** Revoked and expired records are kept this long, so that clients learn which of the two applies. */
export const keptSeconds = 90 * 86_400;

/** @returns Unix seconds at which Redis may delete the record, or '' if it is kept for good */
export function recordExpiry({ expiresAt, revokedAt }: Partial<ApiKeyRecord>): number | '' {
  const ends = [expiresAt, revokedAt].flatMap((time) => (time === undefined ? [] : [Date.parse(time)]));
  const known = ends.filter((end) => Number.isFinite(end));
  return known.length === 0 ? '' : Math.ceil(Math.min(...known) / 1000) + keptSeconds;
}
