import type { HashReader } from '../redis/hash-reader.ts';
import { redisKeys, type KeyPlace } from '../redis/redis-keys.ts';
import { parseApiKeyRecord, type ParsedRecord } from './api-key-record.ts';

export type ReadApiKey = ParsedRecord & {
  /** That of the customer as Redis has it, which scripts compare; undefined if it is not a hash any more. */
  rev: string | undefined;
  /** The key's own id as Redis has it, also in an invalid record. */
  id: string;
  revokedAt: string | undefined;
  /** The same of the customer. */
  suspendedAt: string | undefined;
  /** False if the record of the customer is gone, or not a hash any more. */
  hasCustomer: boolean;
};

/** Issue of a record that was overwritten by another type. */
export const notHash = 'is no longer a hash: delete it';

/** Reads a key with its customer, both at the same moment. Never throws for what was edited by hand. */
export async function readApiKey(
  hashes: Pick<HashReader, 'readTogether'>,
  place: KeyPlace,
): Promise<ReadApiKey> {
  const [customer, key] = await hashes.readTogether(
    redisKeys.customer(place.customerId),
    redisKeys.apiKey(place),
  );
  const { id = '', revokedAt } = key ?? {};
  const suspendedAt = customer?.['suspendedAt'] || undefined;
  const hasCustomer = customer !== undefined && Object.keys(customer).length > 0;
  const rev = customer && (customer['rev'] ?? '0');
  const read = { rev, id, revokedAt, suspendedAt, hasCustomer };
  if (customer !== undefined && key !== undefined) {
    return { ...parseApiKeyRecord(place.customerId, { customer, key }), ...read };
  }
  return {
    outcome: 'invalid',
    issues: key === undefined ? [notHash] : [],
    customerIssues: customer === undefined ? [notHash] : [],
    revoked: revokedAt !== undefined,
    ...read,
  };
}
