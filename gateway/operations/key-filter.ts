import { windowNames } from '../limits/windows.ts';
import { keyView, type KeyView } from './key-view.ts';
import type { StoredApiKey } from './stored-keys.ts';
import { textMatcher } from './text-matcher.ts';

/** What keys have to match, all of it. A field that is undefined matches every key. */
export interface KeyFilter {
  plan?: string | undefined;
  state?: KeyView['state'] | undefined;
  /** Part of the name, in upper or lower case. */
  name?: string | undefined;
  /** Keys that expire, or have expired, before this time. */
  expiresBefore?: Date | undefined;
  /** Keys with a limit of their own. */
  withOwnLimits?: boolean | undefined;
  /** Id of a bulk issue, from the audit log. */
  batch?: string | undefined;
}

/** @returns a function that tells whether a key matches; an invalid record matches by its state only */
export function keyMatcher(filter: KeyFilter, now: () => number): (key: StoredApiKey) => boolean {
  const { plan, state, name, expiresBefore, withOwnLimits, batch } = filter;
  const nameMatches = textMatcher(name ?? '');
  const needsRecord = [plan, name, expiresBefore, withOwnLimits, batch].some((part) => part !== undefined);
  return (key) => {
    if (state !== undefined && keyView(key, now()).state !== state) return false;
    if (key.outcome !== 'record') return !needsRecord;
    const { record } = key;
    if (plan !== undefined && record.plan !== plan) return false;
    if (batch !== undefined && record.batch !== batch) return false;
    if (withOwnLimits && windowNames.every((window) => record[window] === undefined)) return false;
    if (expiresBefore !== undefined && !expiresBeforeTime(record.expiresAt, expiresBefore)) return false;
    return nameMatches(record.name);
  };
}

function expiresBeforeTime(expiresAt: string | undefined, time: Date): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) < time.getTime();
}
