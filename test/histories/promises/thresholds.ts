import { unitsAt } from '../../../gateway/limits/thresholds.ts';
import { dayNumberOf } from '../../../gateway/limits/utc-day.ts';
import { counts, mayCount, type RecordedRequest } from '../history.ts';
import type { View } from '../view.ts';
import { found, mayBeLostWith, publishedIn } from './events.ts';
import type { Find } from './promise.ts';

/** Time by which the use of a customer has reached a number in any case; undefined if it may not have. */
function reachedBy(requests: readonly RecordedRequest[], units: number): number | undefined {
  return requests
    .filter(counts)
    .map(({ endMs }) => endMs)
    .toSorted((one, other) => one - other)[units - 1];
}

/** The clock of Redis, as each gateway reads it now and then. */
const clockMs = 1000;

/** Each share of the day that was used is told, when it was used. */
export const thresholdsAreTold: Find = (view) => {
  const { events, startMs, endMs, use, thresholds } = view.history;
  // At midnight another day begins.
  if (events === undefined || use === undefined || dayNumberOf(startMs) !== dayNumberOf(endMs)) return [];
  const all = publishedIn(view, 'quota.threshold');
  return Array.from(view.byOwner).flatMap(([owner, requests]) => {
    const own = all.filter((event) => event.owner === owner);
    const limits = new Set(view.limitsUntil(owner, 'day', Infinity));
    const withoutCause = own.flatMap((event) => {
      const { threshold, limit, used } = event.data as Record<string, number>;
      const at = unitsAt(threshold ?? 0, limit ?? 0);
      const possible = requests.filter((request) => mayCount(request) || view.mayBeLocal(request));
      const most = possible.filter((request) => request.startMs <= event.atMs + clockMs).length;
      const twice = possible.filter((request) => view.mayBeLocal(request)).length;
      return limits.has(limit ?? 0) && (used ?? 0) >= at && (used ?? 0) <= most + twice
        ? []
        : found(`${owner}: ${threshold} % of ${limit} told with ${used} used, at most ${most} were`);
    });
    const inForce = new Set(view.limits(owner, 'day', { startMs: endMs, endMs }, -1));
    const [limit] = inForce;
    if (limit === undefined || inForce.size > 1) return withoutCause;
    const missing = thresholds.flatMap((threshold) => {
      const units = unitsAt(threshold, limit);
      const event = own.find(({ data }) => data['threshold'] === threshold);
      if (event === undefined)
        return (use[owner]?.served ?? 0) >= units
          ? found(`${owner}: ${threshold} % of ${limit} not told`)
          : [];
      const reachedMs = limits.size === 1 ? reachedBy(requests, units) : undefined;
      return reachedMs !== undefined &&
        event.atMs > reachedMs + clockMs &&
        !mayBeHidden(view, requests, reachedMs)
        ? found(`${owner}: ${threshold} % of ${limit} told ${event.atMs - reachedMs} ms after it was reached`)
        : [];
    });
    return withoutCause.concat(missing);
  });
};

/** Whether the request that reached a threshold may have been decided without Redis, or by a process that was killed. */
function mayBeHidden(view: View, requests: readonly RecordedRequest[], reachedMs: number): boolean {
  return (
    requests.some((request) => request.startMs <= reachedMs && view.mayBeLocal(request)) ||
    mayBeLostWith(view, { startMs: reachedMs, endMs: reachedMs })
  );
}
