import { anyRev, type ApiKeys, type Caller } from './api-keys.ts';
import { lookupError } from './authenticate.ts';
import type { GatewayError } from '../errors.ts';

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
  let caller = remembered;
  for (let rereads = 0; ; rereads += 1) {
    const result = await use(rereads <= maxRereads ? caller : { ...caller, rev: anyRev });
    if (result !== undefined) return { outcome: 'current', caller, result };
    const lookup = await apiKeys.reread(caller.sha);
    if (lookup.outcome !== 'valid') return { outcome: 'refused', error: lookupError(lookup.outcome) };
    ({ caller } = lookup);
  }
}
