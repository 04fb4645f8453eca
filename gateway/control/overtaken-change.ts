import type { ApiKeyRecord } from '../keys/api-key-record.ts';
import type { CustomerRecord } from '../keys/customer-record.ts';
import { windows } from '../limits/windows.ts';
import { isCustomerId } from '../platform/redis/redis-keys.ts';
import { InvalidOperation } from './invalid-operation.ts';

/** A change that was decided on by a record that somebody else has changed since. Nothing was changed. */
export class OvertakenChange extends InvalidOperation {
  override name = 'OvertakenChange';
}

/** @param now what is stored now, in words. @throws OvertakenChange if it is not what the caller has seen */
export function expectUnchanged(isSame: boolean, now: string): void {
  if (isSame) return;
  throw new OvertakenChange(
    `somebody else has changed this since it was read: now it is ${now}. Nothing was changed.`,
  );
}

/** @throws OvertakenChange if the record is not at this rev any more. The keys of a customer have its rev */
export function assertRev(record: ApiKeyRecord | CustomerRecord, expected: number | undefined): void {
  if (expected === undefined || record.rev === expected) return;
  const what = isCustomerId(record.id)
    ? `the customer ${record.id} or one of its keys`
    : `the key ${record.id}, its customer or another of its keys`;
  const subject = isCustomerId(record.id) ? 'the customer' : 'the key';
  throw new OvertakenChange(
    `somebody else has changed ${what} in the meantime: ${subject} is now ${describe(record)} (revision ${record.rev})`,
  );
}

function describe(record: ApiKeyRecord | CustomerRecord): string {
  const { name, plan, suspendedAt, ...limits } = record;
  const { expiresAt, scopes, revokedAt }: Partial<ApiKeyRecord> = 'hint' in record ? record : {};
  const own = windows.flatMap(({ name: window, each }) =>
    limits[window] === undefined ? [] : [`own limit of ${limits[window]} ${each}`],
  );
  return [
    `${JSON.stringify(name)} on the plan ${plan}`,
    own.length === 0 ? 'no limits of its own' : own.join(' and '),
    ...(expiresAt === undefined ? [] : [`expires at ${expiresAt}`]),
    ...(scopes === undefined ? [] : [`with the scopes ${scopes.join(' ')}`]),
    ...(revokedAt === undefined ? [] : ['revoked']),
    ...(suspendedAt === undefined ? [] : ['suspended']),
  ].join(', ');
}
