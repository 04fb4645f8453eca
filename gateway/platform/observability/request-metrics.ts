import type { Counter, Histogram } from '@prometheus-io/client';

/** A documented operation: the pattern of its route and its method. */
interface Operation {
  route: string;
  method: string;
}

/** Outcomes that an operation of the API may have. */
const expectedStatuses = ['2xx', '4xx', '5xx', 'aborted', 'cut_off'];

type RequestCounter = Counter<'route' | 'method' | 'status' | 'plan'>;

/**
 * Metrics of every request.
 * @param createCounter creates the counter of requests, which calls `collect` before it is read
 */
export function createRequestMetrics(
  createCounter: (collect: () => void) => RequestCounter,
  seconds: Histogram<'route' | 'method'>,
) {
  /**
   * Requests that the counter lacks, by route, method, status and plan in turn. The counter itself joins and hashes its labels at each
   * call, which is a hundredth of a request.
   */
  const waiting = new Map<string, Map<string, Map<string, Map<string, number>>>>();
  const requests = createCounter(() => {
    for (const [route, byMethod] of waiting)
      for (const [method, byStatus] of byMethod)
        for (const [status, byPlan] of byStatus)
          for (const [plan, count] of byPlan) requests.inc({ route, method, status, plan }, count);
    waiting.clear();
  });
  const operations: Operation[] = [];
  const plans = new Set<string>();
  return {
    /** Counters and durations, for those who read them. */
    requests,
    seconds,
    /**
     * Counts a request.
     * @param status a class such as 2xx; aborted if the client left first, cut_off if the gateway broke off
     * @param duration seconds from the first step of the journey to the last byte of the response; undefined for what became
     * no request
     */
    count(route: string, method: string, status: string, plan: string, duration?: number): void {
      const byPlan = childOf(childOf(childOf(waiting, route), method), status);
      byPlan.set(plan, (byPlan.get(plan) ?? 0) + 1);
      // A fast refusal says nothing of how long served requests take.
      if (duration !== undefined && isServed(status)) seconds.observe({ route, method }, duration);
    },
    /** Shows requests of these operations on these plans at 0: Prometheus sees no increase in a series that begins at 1. */
    expect({ operations: added = [], plan }: { operations?: readonly Operation[]; plan: string }): void {
      if (added.length === 0 && plans.has(plan)) return;
      plans.add(plan);
      operations.push(...added);
      for (const { route, method } of added) seconds.zero({ route, method });
      for (const { route, method } of operations)
        for (const status of expectedStatuses)
          for (const expected of plans) requests.inc({ route, method, status, plan: expected }, 0);
    },
  };
}

const isServed = (status: string) => status === '2xx' || status === '3xx';

/** The map that another one has for a key. */
function childOf<Value>(maps: Map<string, Map<string, Value>>, key: string): Map<string, Value> {
  let child = maps.get(key);
  if (child === undefined) maps.set(key, (child = new Map()));
  return child;
}
