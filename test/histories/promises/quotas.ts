import { isGivenBack, isServed, mayCount, type LimitedWindow, type RecordedRequest } from '../history.ts';
import { endOf, numberIn, shownWindows } from '../rate-headers.ts';
import { daysOf, minuteMs, minutesOf, type Decided } from '../seen-windows.ts';
import type { View } from '../view.ts';
import { finding, findingIf, type Find } from './promise.ts';

const seenWindows = (view: View) =>
  Array.from(view.byOwner.keys(), (owner) =>
    [...minutesOf(view, owner), ...daysOf(view, owner)].map((window) => ({ owner, window })),
  ).flat();

/** Number of the times that are before a time. */
function countBefore(sorted: readonly number[], ms: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? Infinity) < ms) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** No window serves more than its limit, whatever the order in which concurrent requests were decided. */
export const neverOverLimit: Find = (view) =>
  seenWindows(view).flatMap(({ owner, window }) => {
    const served = window.decided.filter((decided) => decided.served);
    const ends = served.map(({ request }) => request.endMs).toSorted((one, other) => one - other);
    return served.flatMap(({ request }) => {
      const place = window.usedBefore + countBefore(ends, request.startMs) + 1;
      const limit = Math.max(...view.limits(owner, window.name, request, request.gateway));
      const message = `${owner}: request ${place} of a ${window.name} of ${limit} was served`;
      return findingIf(place > limit, message, request);
    });
  });

/**
 * Whether Redis may have counted it too late for the process, which then refused it alone: its place in the minute is lost, and
 * that in the day is taken back.
 */
const mayBeTakenBack = (view: View, request: RecordedRequest) =>
  request.status === 429 && view.mayBeLocal(request) && !view.isLocal(request);

const mayUse = (view: View, request: RecordedRequest) => mayCount(request) || mayBeTakenBack(view, request);

/** How much the count of a window may have fallen until a request is decided. */
function mostTakenBack(view: View, owner: string, window: LimitedWindow, { endMs }: RecordedRequest): number {
  const requests = view.byOwner.get(owner) ?? [];
  return requests.filter(
    (request) =>
      request.startMs < endMs &&
      (isGivenBack(request) || (window === 'day' && mayBeTakenBack(view, request))),
  ).length;
}

/** Concurrent requests get a place in the window each. */
export const placesDiffer: Find = (view) =>
  seenWindows(view).flatMap(({ owner, window }) => {
    const served = window.decided.filter((decided) => decided.served && decided.shown.isExact);
    return Array.from(Map.groupBy(served, ({ shown }) => shown.used).entries())
      .filter(([, same]) => {
        const last = same.at(-1);
        return last !== undefined && same.length > 1 + mostTakenBack(view, owner, window.name, last.request);
      })
      .map(([place, same]) =>
        finding(
          `${owner}: ${same.length} requests are number ${place} of one ${window.name}`,
          ...same.map(({ request }) => request),
        ),
      );
  });

/** A window goes on for its whole length: all responses agree on its end, and two ends are a minute apart. */
export const windowsAreFixed: Find = (view) =>
  Array.from(view.byOwner.keys()).flatMap((owner) => {
    const minutes = minutesOf(view, owner);
    return minutes.flatMap((minute, index) => {
      const requests = minute.decided.map(({ request }) => request);
      const next = minutes[index + 1];
      if (minute.startMs > minute.endMs + 50)
        return [finding(`${owner}: the end of a minute has moved`, ...requests)];
      const isTooSoon = next !== undefined && next.endMs - minute.startMs < minuteMs - 50;
      return findingIf(
        isTooSoon,
        `${owner}: two minutes end less than a minute apart`,
        ...requests.slice(-1),
      );
    });
  });

/** In any 60 s an owner gets two windows at the most, even if the headers say something else. */
export const twoWindowsAtMost: Find = (view) =>
  Array.from(view.byOwner).flatMap(([owner, requests]) => {
    const served = requests.filter((request) => isServed(request) && !view.mayBeLocal(request));
    const ends = served.map(({ endMs }) => endMs).toSorted((one, other) => one - other);
    const over = served.find((request) => {
      const inMinute = countBefore(ends, request.startMs + minuteMs) - countBefore(ends, request.startMs);
      const sentBefore = served.filter(
        ({ startMs, endMs }) =>
          startMs < request.startMs && endMs >= request.startMs && endMs < request.startMs + minuteMs,
      ).length;
      return inMinute - sentBefore > 2 * Math.max(...view.limitsUntil(owner, 'minute', Infinity));
    });
    return over === undefined ? [] : [finding(`${owner}: more than two minutes' requests in 60 s`, over)];
  });

/** The limit that a response shows was in force. */
export const shownLimitIsInForce: Find = (view) =>
  seenWindows(view).flatMap(({ owner, window }) =>
    window.decided.flatMap(({ request, shown }) => {
      const limits = view.limits(owner, window.name, request, request.gateway);
      const inForce = limits.join(' or ');
      const message = `${owner}: a limit of ${shown.limit} a ${window.name} is shown, in force was ${inForce}`;
      return findingIf(!limits.includes(shown.limit), message, request);
    }),
  );

/** The latest time at which Redis may have counted it: what a process no longer waits for is executed when Redis goes on. */
const countedUntilMs = (view: View, request: RecordedRequest) =>
  view.mayBeLocal(request) ? view.calmAfter(request.gateway, request.endMs) : request.endMs;

/** Requests that one refused request may have been decided after, in the same window. */
function mayPrecede(
  view: View,
  owner: string,
  request: RecordedRequest,
  window: LimitedWindow,
  fromMs: number,
) {
  const others = (view.byOwner.get(owner) ?? []).filter(
    (other) => mayUse(view, other) && other.startMs < request.endMs && countedUntilMs(view, other) >= fromMs,
  );
  // Counted by Redis although the process was told nothing, and reported by it later: twice in the day.
  return others.length + (window === 'day' ? others.filter((other) => view.mayBeLocal(other)).length : 0);
}

function refusedBy(request: RecordedRequest): LimitedWindow | undefined {
  if (request.status !== 429 || request.code !== 'rate_limit_exceeded') return undefined;
  const window = request.headers['x-ratelimit-window'];
  return window === 'minute' || window === 'day' ? window : undefined;
}

/** A request is refused only if the window that it names may have been used up. */
export const refusedOnlyWithoutRoom: Find = (view) =>
  view.history.requests.flatMap((request) => {
    const window = refusedBy(request);
    const shown = window && shownWindows(request).get(window);
    if (window === undefined || shown === undefined || view.mayBeLocal(request)) return [];
    const { owner } = request;
    const fromMs = window === 'minute' ? endOf(request, shown).startMs - minuteMs : -Infinity;
    const before =
      window === 'minute'
        ? view.history.opened.filter((opened) => opened.owner === owner && opened.endMs > request.startMs)
        : [];
    const used =
      mayPrecede(view, owner, request, window, fromMs) + before.reduce((sum, opened) => sum + opened.used, 0);
    const limit = Math.min(...view.limits(owner, window, request, request.gateway));
    const message = `${owner}: refused by the ${window}, of which at most ${used} of ${limit} were used`;
    return findingIf(used < limit, message, request);
  });

/** What a window has counted never falls, and each served request adds to it. */
export const remainingNeverRises: Find = (view) =>
  seenWindows(view).flatMap(({ owner, window }) => {
    const byEnd = window.decided.toSorted((one, other) => one.request.endMs - other.request.endMs);
    let most: Decided | undefined;
    let next = 0;
    return window.decided.flatMap((decided) => {
      for (let ended = byEnd[next]; ended !== undefined && ended.request.endMs < decided.request.startMs;) {
        if (most === undefined || ended.shown.used > most.shown.used) most = ended;
        next += 1;
        ended = byEnd[next];
      }
      const before = most?.shown.used ?? window.usedBefore;
      const takenBack = mostTakenBack(view, owner, window.name, decided.request);
      const least = before - takenBack + (decided.served ? 1 : 0);
      const { isExact, used } = decided.shown;
      const message = `${owner}: a ${window.name} had counted ${least}, and then ${used}`;
      const earlier = most === undefined ? [] : [most.request];
      return findingIf(isExact && used < least, message, ...earlier, decided.request);
    });
  });

/** A request after Retry-After finds a new window. Only requests that may be in that one can have used it up. */
export const retryAfterSuffices: Find = (view) =>
  Array.from(view.byOwner).flatMap(([owner, requests]) => {
    const refused = requests.filter(
      (request) => refusedBy(request) === 'minute' && !view.mayBeLocal(request),
    );
    const waits = refused
      .map((request) => {
        const seconds = numberIn(request, 'retry-after') ?? 0;
        return {
          request,
          overMs: request.endMs + seconds * 1000,
          newFromMs: request.startMs + (seconds - 1) * 1000,
        };
      })
      .toSorted((one, other) => one.overMs - other.overMs);
    let next = 0;
    let latest: (typeof waits)[number] | undefined;
    return refused.flatMap((request) => {
      for (let wait = waits[next]; wait !== undefined && wait.overMs <= request.startMs;) {
        if (latest === undefined || wait.newFromMs > latest.newFromMs) latest = wait;
        next += 1;
        wait = waits[next];
      }
      if (latest === undefined) return [];
      const used = mayPrecede(view, owner, request, 'minute', latest.newFromMs);
      const limit = Math.min(...view.limits(owner, 'minute', request, request.gateway));
      const message = `${owner}: refused again after Retry-After, with ${used} requests since`;
      return findingIf(used < limit, message, latest.request, request);
    });
  });

/** Without Redis, each process serves the limit in each minute of the clock, and refuses no less. */
export const limitWithoutRedis: Find = (view) =>
  Array.from(view.byOwner).flatMap(([owner, requests]) =>
    view.history.lives.flatMap((life) => {
      const own = requests.filter(
        ({ gateway, startMs, endMs }) =>
          gateway === life.gateway && startMs >= life.startMs && endMs <= life.endMs,
      );
      const minuteOf = (ms: number) => Math.floor(ms / minuteMs);
      const local = own.filter(
        (request) => view.isLocal(request) && minuteOf(request.startMs) === minuteOf(request.endMs),
      );
      return Array.from(Map.groupBy(local, ({ startMs }) => minuteOf(startMs)).values()).flatMap(
        (inMinute) => {
          const last = inMinute.at(-1);
          if (last === undefined) return [];
          const limits = view.limitsUntil(owner, 'minute', last.endMs);
          const served = inMinute.filter(isServed);
          const limit = Math.max(...limits);
          if (served.length > limit)
            return [
              finding(`${owner}: ${served.length} served without Redis in a minute of ${limit}`, ...served),
            ];
          const refused = inMinute.find((request) => refusedBy(request) === 'minute');
          if (refused === undefined) return [];
          const room = Math.min(...limits);
          const used = own.filter(
            (request) =>
              mayCount(request) &&
              view.mayBeLocal(request) &&
              minuteOf(request.endMs) >= minuteOf(refused.startMs) &&
              request.startMs < refused.endMs,
          ).length;
          const message = `${owner}: refused without Redis, with ${used} of ${room} used`;
          return findingIf(used < room, message, refused);
        },
      );
    }),
  );
