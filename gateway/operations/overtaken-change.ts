import type { ApiKeyRecord } from '../api-keys/api-key-record.ts';
import { describeLimits } from '../limits/limits.ts';
import { windows } from '../limits/windows.ts';
import { InvalidOperation } from './invalid-operation.ts';

/** A change that was decided on by a record that somebody else has changed since. Nothing was changed. */
export class OvertakenChange extends InvalidOperation {
  override name = 'OvertakenChange';
}

/** @throws OvertakenChange if the record is not at this rev any more */
export function assertRev(record: ApiKeyRecord, expected: number | undefined): void {
  if (expected === undefined || record.rev === expected) return;
  throw new OvertakenChange(
    `somebody else has changed the key ${record.id} in the meantime: it is now ${describe(record)} (revision ${record.rev})`,
  );
}

function describe({ name, plan, expiresAt, scopes, revokedAt, temporary, ...limits }: ApiKeyRecord): string {
  const own = windows.flatMap(({ name: window, each }) =>
    limits[window] === undefined ? [] : [`own limit of ${limits[window]} ${each}`],
  );
  return [
    `${JSON.stringify(name)} on the plan ${plan}`,
    own.length === 0 ? 'no limits of its own' : own.join(' and '),
    ...(temporary === undefined ? [] : [`with ${describeLimits(temporary)} until ${temporary.until}`]),
    ...(expiresAt === undefined ? [] : [`expires at ${expiresAt}`]),
    ...(scopes === undefined ? [] : [`with the scopes ${scopes.join(' ')}`]),
    ...(revokedAt === undefined ? [] : ['revoked']),
  ].join(', ');
}
