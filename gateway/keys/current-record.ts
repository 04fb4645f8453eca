import { GatewayError } from '../errors.ts';
import { anyRev, type ApiKeyCache, type ApiKeyLookup, type Caller, type EndedKey } from './api-key-cache.ts';

/** A record that changes faster than it can be read is used as it was last read. */
const maxRereads = 3;

type CurrentRecord<T> =
  | { outcome: 'current'; caller: Caller; result: T }
  | { outcome: 'refused'; error: GatewayError; key: EndedKey | undefined };

/**
 * Runs a Redis command in a caller's name, on condition that the cached record is still the one in Redis. If not, because
 * the key was revoked or changed, the record is read again first.
 *
 * @param use compares the caller's `rev`; returns undefined if it is not the one in Redis
 */
export async function withCurrentRecord<T>(
  apiKeys: ApiKeyCache,
  cached: Caller,
  use: (caller: Caller) => Promise<T | undefined>,
): Promise<CurrentRecord<T>> {
  const result = await use(cached);
  if (result !== undefined) return { outcome: 'current', caller: cached, result };
  return withRereadRecord(apiKeys, cached, use);
}

/** The same, for a cached record that is known to be stale. */
export async function withRereadRecord<T>(
  apiKeys: ApiKeyCache,
  { keyHash }: Caller,
  use: (caller: Caller) => Promise<T | undefined>,
): Promise<CurrentRecord<T>> {
  for (let rereads = 1; ; rereads += 1) {
    const lookup = await apiKeys.reread(keyHash);
    if (lookup.outcome !== 'valid') {
      return { outcome: 'refused', error: lookupError(lookup.outcome), key: endedKey(lookup) };
    }
    const { caller } = lookup;
    const result = await use(rereads <= maxRereads ? caller : { ...caller, rev: anyRev });
    if (result !== undefined) return { outcome: 'current', caller, result };
  }
}

/** @returns the key of a look-up that has ended, as far as it has one */
export function endedKey(lookup: ApiKeyLookup): EndedKey | undefined {
  return 'key' in lookup ? lookup.key : undefined;
}

const codes = {
  unknown: 'unknown_api_key',
  expired: 'expired_api_key',
  revoked: 'revoked_api_key',
  suspended: 'account_suspended',
} as const;

/** The error that a caller without a valid key gets. */
export function lookupError(outcome: Exclude<ApiKeyLookup['outcome'], 'valid'>): GatewayError {
  return outcome === 'unavailable'
    ? new GatewayError('service_unavailable', { headers: { 'Retry-After': '1' } })
    : new GatewayError(codes[outcome]);
}
