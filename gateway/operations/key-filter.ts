import { apiKeyState } from '../api-keys/api-key-record.ts';
import { windowNames } from '../limits/windows.ts';
import { readKeyUse } from '../quota/key-use.ts';
import { redisKeys, type KeyPlace } from '../redis/redis-keys.ts';
import { keyStates, recordView, type KeyView } from './key-view.ts';
import { listPlans, readPlanNames, unknownPlan } from './plan-names.ts';
import { keyTextMatcher } from './search-keys.ts';
import type { Session } from './session.ts';
import type { PlacedKey } from './stored-keys.ts';

/** `banned` is for valid keys. It is not in the record. */
export const listedStates = [...keyStates, 'banned'] as const;

/** What keys have to match, all of it. A field that is undefined matches every key. */
export interface KeyFilter {
  plan?: string | undefined;
  state?: (typeof listedStates)[number] | undefined;
  /** A hint, or part of a name or an id (search-keys.ts). */
  search?: string | undefined;
  /** Keys that expire, or have expired, before this time. */
  expiresBefore?: Date | undefined;
  /** Keys with a limit of their own. */
  withOwnLimits?: boolean | undefined;
  /** Keys that were last used before this time, or never. */
  unusedSince?: Date | undefined;
}

/** A key as a list shows it. */
export type KeyInList = Omit<KeyView, 'state'> & {
  state: (typeof listedStates)[number];
  /** Time of the last use, null if there was none. Present only if it was asked for: it is another read a key. */
  lastUsedAt?: string | null;
};

/** Selects keys from pages of all keys. A plan that was removed may still have keys. */
export async function createKeySelection(
  session: Session,
  filter: KeyFilter,
  { withLastUse = false }: { withLastUse?: boolean } = {},
) {
  const { redis, now } = session;
  const matches = keyMatcher(filter, now);
  const { plan, unusedSince } = filter;
  const names = plan === undefined ? [] : await readPlanNames(redis);
  let isOnPlan = plan === undefined || names.includes(plan);

  async function isBanned(place: KeyPlace): Promise<boolean> {
    return (await redis.exists(redisKeys.ban(place))) === 1;
  }

  return {
    async select(page: readonly PlacedKey[]): Promise<KeyInList[]> {
      isOnPlan ||= page.some(({ record }) => record.plan === plan);
      const matching = page.filter(matches);
      const banned =
        filter.state === 'banned' && (await Promise.all(matching.map(({ place }) => isBanned(place))));
      const selected = banned ? matching.filter((_key, index) => banned[index]) : matching;
      const views = selected.map(({ record }): KeyInList => {
        const view = recordView(record, now());
        return banned ? { ...view, state: 'banned' } : view;
      });
      if (!withLastUse && unusedSince === undefined) return views;
      const uses = await Promise.all(selected.map(({ place }) => readKeyUse(session, place)));
      const used = views.map((view, index) =>
        Object.assign(view, { lastUsedAt: uses[index]?.lastUsedAt ?? null }),
      );
      if (unusedSince === undefined) return used;
      return used.filter(
        ({ lastUsedAt }) => lastUsedAt === null || Date.parse(lastUsedAt) < unusedSince.getTime(),
      );
    },
    /** To be called after the last page. @throws InvalidOperation for a plan that does not exist */
    end() {
      if (!isOnPlan) throw unknownPlan(plan ?? '', names, `the plans are ${listPlans(names)}`);
    },
  };
}

/** @returns a function that tells whether a key matches, but for a ban */
export function keyMatcher(
  filter: KeyFilter,
  now: () => number,
): (key: Pick<PlacedKey, 'record'>) => boolean {
  const { plan, state, search, expiresBefore, withOwnLimits } = filter;
  const matchesText = search === undefined ? () => true : keyTextMatcher(search);
  return ({ record }) => {
    const wanted = state === 'banned' ? 'valid' : state;
    if (wanted !== undefined && apiKeyState(record, now()) !== wanted) return false;
    if (!matchesText(record)) return false;
    if (plan !== undefined && record.plan !== plan) return false;
    if (withOwnLimits && windowNames.every((window) => record[window] === undefined)) return false;
    return expiresBefore === undefined || expiresBeforeTime(record.expiresAt, expiresBefore);
  };
}

function expiresBeforeTime(expiresAt: string | undefined, time: Date): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) < time.getTime();
}
