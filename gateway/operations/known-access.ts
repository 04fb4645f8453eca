import type { ApiKeyRecord } from '../api-keys/api-key-record.ts';
import { missingScopes } from '../limits/access.ts';
import { lowestOwnLimits, type OwnLimits } from '../limits/temporary-limits.ts';
import { windows } from '../limits/windows.ts';
import { readProcessStatuses } from '../redis/process-statuses.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { InvalidOperation } from './invalid-operation.ts';

/**
 * Compares scopes and own limits of a key with what the operations ask, which the gateways that run say.
 * @throws InvalidOperation for a scope that no operation needs, and for a limit that is less than one costs that the key may
 * call
 */
export async function assertAccess(
  redis: RedisClient,
  { scopes, ...own }: OwnLimits & Pick<ApiKeyRecord, 'scopes'>,
): Promise<void> {
  const limits = lowestOwnLimits(own);
  const limited = windows.flatMap(({ name, each }) => {
    const limit = limits[name];
    return limit === undefined ? [] : [{ name, each, limit }];
  });
  if (scopes === undefined && limited.length === 0) return;
  const found = (await readProcessStatuses(redis)).flatMap(({ access }) => access ?? []);
  const known = new Set(found.flatMap((access) => access.scopes));
  const unknown = known.size === 0 ? undefined : scopes?.find((scope) => !known.has(scope));
  if (unknown !== undefined) {
    throw new InvalidOperation(
      `no operation needs the scope ${unknown}; known are ${[...known].toSorted().join(', ')}`,
    );
  }
  for (const { operation, units, scopes: needed } of found.flatMap(({ costs }) => costs)) {
    const below = limited.find(({ limit }) => limit < units);
    if (below === undefined || missingScopes(needed, scopes).length > 0) continue;
    throw new InvalidOperation(
      `${operation} costs ${units}, more than the limit of ${below.limit} ${below.each}: give the key a higher one, or scopes without ${needed.join(' and ')}`,
    );
  }
}
