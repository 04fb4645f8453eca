import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../api-error.ts';

/** Runs a search when it is the turn of its session. @throws ApiError too_many_requests if too many of it wait */
export type SearchTurns = <T>(session: string, search: () => Promise<T>) => Promise<T>;

/** More than the pages of a person ask for at once. */
const maxWaiting = 10;
/** Searches look at thousands of records, in the process that may serve requests as well: half of the time is theirs. */
const maxRestMs = 1000;

/**
 * Creates the turns of searches: one runs at a time, those of one session in their order, and the sessions one after the
 * other. After each there is a rest as long as it took.
 */
export function createSearchTurns(): SearchTurns {
  /** Searches that wait, by session. The session whose turn is next is the first. */
  const waiting = new Map<string, (() => Promise<unknown>)[]>();
  let isRunning = false;

  function takeNext(): (() => Promise<unknown>) | undefined {
    const [next] = waiting;
    if (next === undefined) return undefined;
    const [session, searches] = next;
    const search = searches.shift();
    waiting.delete(session);
    if (searches.length > 0) waiting.set(session, searches);
    return search;
  }

  async function run(): Promise<void> {
    if (isRunning) return;
    isRunning = true;
    for (let search = takeNext(); search !== undefined; search = takeNext()) {
      const start = performance.now();
      await search();
      await sleep(Math.min(performance.now() - start, maxRestMs), undefined, { ref: false });
    }
    isRunning = false;
  }

  return function takeTurn<T>(session: string, search: () => Promise<T>): Promise<T> {
    const searches = waiting.get(session) ?? [];
    if (searches.length === maxWaiting) {
      throw new ApiError('too_many_requests', {
        message: `${maxWaiting} searches of this session wait already. Try again in a moment.`,
        headers: { 'Retry-After': '1' },
      });
    }
    const { promise, resolve } = Promise.withResolvers<T>();
    searches.push(() => {
      const result = search();
      resolve(result);
      return result.catch(() => {});
    });
    waiting.set(session, searches);
    void run();
    return promise;
  };
}
