import type { GatewayError } from '../errors.ts';
import { lookupError } from '../journey/authenticate.ts';
import { anyRev, type ApiKeys, type Caller } from './api-key-cache.ts';

/** A record that changes faster than it can be read: then the one just read has to do. */
const maxRereads = 3;

export type CurrentRecord<T> =
  { outcome: 'current'; caller: Caller; result: T } | { outcome: 'refused'; error: GatewayError };

/**
 * Does something in Redis in a caller's name, on condition that the remembered record is still the one in Redis:
 * revoked, expired, on another plan or with other limits, it is read again first.
 *
 * @param use compares the caller's `rev`; undefined says that it is not the one in Redis
 */
export async function withCurrentRecord<T>(
  apiKeys: ApiKeys,
  remembered: Caller,
  use: (caller: Caller) => Promise<T | undefined>,
): Promise<CurrentRecord<T>> {
  const result = await use(remembered);
  if (result !== undefined) return { outcome: 'current', caller: remembered, result };
  return withRereadRecord(apiKeys, remembered, use);
}

/** The same where the remembered record is known not to be the one in Redis. */
export async function withRereadRecord<T>(
  apiKeys: ApiKeys,
  { sha }: Caller,
  use: (caller: Caller) => Promise<T | undefined>,
): Promise<CurrentRecord<T>> {
  for (let rereads = 1; ; rereads += 1) {
    const lookup = await apiKeys.reread(sha);
    if (lookup.outcome !== 'valid') return { outcome: 'refused', error: lookupError(lookup.outcome) };
    const { caller } = lookup;
    const result = await use(rereads <= maxRereads ? caller : { ...caller, rev: anyRev });
    if (result !== undefined) return { outcome: 'current', caller, result };
  }
}
