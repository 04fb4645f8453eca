import { Counter, type Registry } from 'prom-client';
import { PrelabelledHistogram, type HistogramChild } from './prelabelled-histogram.ts';

/** Metrics of every request. Labels are bounded, see Metrics. */
export interface RequestMetrics {
  /**
   * Counts a request.
   * @param status a class such as 2xx; aborted if the client left first, cut_off if the gateway broke off
   * @param seconds from the first step of the journey to the last byte of the response; undefined for what became no
   * request
   */
  count(route: string, method: string, status: string, plan: string, seconds?: number): void;
  /**
   * Shows the requests of these operations on these plans from now on, at 0 until there is one: Prometheus sees no
   * increase in a series that begins at 1. What was expected earlier is combined with the new ones.
   */
  expect(added: { operations?: readonly Operation[]; plans?: readonly string[] }): void;
  /** All counts since the start of the process. Reading them leaves the metrics as they are. */
  totals(): RequestTotals;
}

/** A documented operation: the pattern of its route and its method. */
export interface Operation {
  route: string;
  method: string;
}

export interface RequestTotals {
  /** Several entries may have the same status and plan. */
  requests: readonly { status: string; plan: string; count: number }[];
  /** Durations by status, with an entry for each route and method. */
  durations: readonly { status: string; buckets: readonly DurationBucket[] }[];
}

export interface DurationBucket {
  /** Upper bound in seconds; Infinity for the last bucket. */
  bound: number;
  /** Requests in this bucket alone. */
  count: number;
}

interface RequestCount {
  labels: { route: string; method: string; status: string; plan: string };
  /** Requests since the start of the process. */
  requests: number;
  /** Those of them that prom-client's counter has; undefined before it was collected first. */
  collected: number | undefined;
  /** Undefined until a duration is known. */
  seconds: HistogramChild | undefined;
}

/**
 * Counts requests in own objects, and adds them to prom-client's counter when that is collected. prom-client's way from
 * labels to a counter is one of the longer parts of a request.
 */
export function createRequestMetrics(registry: Registry, buckets: number[]): RequestMetrics {
  const counts: RequestCount[] = [];
  const countOf = memoizeByString((route) =>
    memoizeByString((method) =>
      memoizeByString((status) =>
        memoizeByString((plan) => {
          const labels = { route, method, status, plan };
          const count: RequestCount = { labels, requests: 0, collected: undefined, seconds: undefined };
          counts.push(count);
          return count;
        }),
      ),
    ),
  );
  const requests = new Counter({
    name: 'gateway_requests_total',
    help: 'Requests by status class; aborted by the client, or cut off by the gateway',
    labelNames: ['route', 'method', 'status', 'plan'],
    registers: [],
    collect() {
      for (const count of counts) {
        const added = count.requests - (count.collected ?? 0);
        if (added > 0 || count.collected === undefined) this.inc(count.labels, added);
        count.collected = count.requests;
      }
    },
  });
  registry.registerMetric(requests);
  const seconds = new PrelabelledHistogram({
    name: 'gateway_request_duration_seconds',
    help: 'Duration of a request, to the end of its response',
    labelNames: ['route', 'method', 'status'],
    buckets,
    registers: [registry],
  });
  const durations: { status: string; child: HistogramChild }[] = [];
  // By status as well: a fast refusal says nothing of how long served requests take.
  const histogramOf = memoizeByString((route) =>
    memoizeByString((method) =>
      memoizeByString((status) => {
        const child = seconds.child({ route, method, status });
        durations.push({ status, child });
        return child;
      }),
    ),
  );
  const expected = { operations: new Map<string, Operation>(), plans: new Set<string>() };
  return {
    expect({ operations = [], plans = [] }) {
      for (const operation of operations)
        expected.operations.set(`${operation.method} ${operation.route}`, operation);
      for (const plan of plans) expected.plans.add(plan);
      for (const { route, method } of expected.operations.values()) {
        for (const status of expectedStatuses) {
          histogramOf(route)(method)(status);
          for (const plan of expected.plans) countOf(route)(method)(status)(plan);
        }
      }
    },
    count(route, method, status, plan, duration) {
      const count = countOf(route)(method)(status)(plan);
      count.requests += 1;
      if (duration === undefined) return;
      count.seconds ??= histogramOf(route)(method)(status);
      count.seconds.observe(duration);
    },
    totals: () => ({
      requests: counts.map(({ labels: { status, plan }, requests: count }) => ({ status, plan, count })),
      durations: durations.map(({ status, child }) => ({ status, buckets: child.buckets() })),
    }),
  };
}

/** Outcomes that an operation of the API may have. */
const expectedStatuses = ['2xx', '4xx', '5xx', 'aborted', 'cut_off'];

/** Calls `create` once for each text. */
function memoizeByString<Value>(create: (text: string) => Value): (text: string) => Value {
  const values = new Map<string, Value>();
  return function get(text) {
    let value = values.get(text);
    if (value === undefined) {
      value = create(text);
      values.set(text, value);
    }
    return value;
  };
}
