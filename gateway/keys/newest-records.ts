import { LRUCache } from 'lru-cache';
import type { CustomerId } from '../platform/redis/redis-keys.ts';
import type { ApiKeyRecord } from './api-key-record.ts';

/**
 * Remembers the newest version of each record that this process has read. A replica that lagged when it became the master
 * has lost changes that were confirmed, such as a revocation: then the record in Redis is older than one read before. Of a
 * suspension, any key of the customer tells.
 */
export interface NewestRecords<R extends ApiKeyRecord> {
  /** @returns the given record, or the one that was read before if that is newer or revoked: a revocation is final */
  newest(keyHash: string, read: R): R;
}

/** Maximum number of records, the same as in the cache: most of them are the same objects. */
const maxRecords = 100_000;

export function createNewestRecords<R extends ApiKeyRecord>(): NewestRecords<R> {
  const records = new LRUCache<string, R>({ max: maxRecords });
  /** Of customers that were suspended when one of their keys was read last. */
  const suspended = new LRUCache<CustomerId, R>({ max: maxRecords });

  /** @returns the given record, with the suspension of its customer if that is newer */
  function withSuspension(read: R): R {
    const last = suspended.get(read.customerId);
    if (last !== undefined && read.rev < last.rev) return { ...read, suspendedAt: last.suspendedAt };
    if (read.suspendedAt === undefined) suspended.delete(read.customerId);
    else suspended.set(read.customerId, read);
    return read;
  }

  return {
    newest(keyHash, found) {
      const read = withSuspension(found);
      const last = records.get(keyHash);
      if (last !== undefined && isOlder(read, last)) return last;
      records.set(keyHash, read);
      return read;
    },
  };
}

/** A revocation holds whatever the rev: it may have been lost and the record changed since, or be set by hand. */
function isOlder(read: ApiKeyRecord, last: ApiKeyRecord): boolean {
  if (read.revokedAt !== undefined) return false;
  return last.revokedAt !== undefined || read.rev < last.rev;
}

/** Describes to operators that Redis has lost a change. */
export function describeLostChange({ id, rev }: ApiKeyRecord, read: ApiKeyRecord): string {
  return (
    `Redis has lost a change of ${id}, as in a failover: its rev is ${read.rev} and was ${rev}; ` +
    'make the change again with the ops command, or restart the gateways to accept the loss'
  );
}
