import { isCustomerId, redisKeys } from '../redis/redis-keys.ts';
import { assertNotApiKey } from './pasted-key.ts';
import type { Session } from './session.ts';
import { isSameText } from './text-matcher.ts';

/** What entries of the audit log have to match, all of it. A field that is undefined matches every entry. */
export interface AuditFilter {
  /** Beginning of the action, such as `keys` or `plans.set`. */
  action?: string | undefined;
  /** Name of the person, in upper or lower case. */
  who?: string | undefined;
  /** See auditTargets. */
  targets?: readonly string[] | undefined;
  since?: Date | undefined;
  /** Entries before this time. */
  until?: Date | undefined;
}

/** Whether an entry matches. Its time, in its id, is compared as well. */
export function matchesAudit(
  entry: { id: string; who: string; action: string; target: string },
  filter: AuditFilter,
): boolean {
  const { action = '', who, targets, since, until } = filter;
  const atMs = Number(entry.id.split('-')[0]);
  return (
    entry.action.startsWith(action) &&
    (who === undefined || isSameText(entry.who, who)) &&
    (targets === undefined || targets.includes(entry.target)) &&
    (since === undefined || atMs >= since.getTime()) &&
    (until === undefined || atMs < until.getTime())
  );
}

/** First and last id in the stream that can match, for XRANGE. */
export function auditRange({ since, until }: AuditFilter): { start: string; end: string } {
  return {
    start: since === undefined ? '-' : String(Math.max(0, since.getTime())),
    // An id without a sequence number means the last one of that millisecond.
    end: until === undefined ? '+' : String(Math.max(0, until.getTime() - 1)),
  };
}

/**
 * Targets of the entries about an id or a name. For a customer also its keys, since limits can be changed through one of them.
 * @throws InvalidOperation for an API key
 */
export async function auditTargets(target: string, session: Pick<Session, 'redis'>): Promise<string[]> {
  assertNotApiKey(target);
  if (!isCustomerId(target)) return [target];
  return [target, ...(await session.redis.smembers(redisKeys.customerKeys(target)))];
}
