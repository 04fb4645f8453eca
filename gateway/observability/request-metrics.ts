import { Counter, type Registry } from 'prom-client';
import { PrelabelledHistogram, type HistogramChild } from './prelabelled-histogram.ts';

/** Metrics of every request. Labels are bounded, see Metrics. */
export interface RequestMetrics {
  /** `status` is a class such as 2xx; aborted if the client left first, cut_off if the gateway broke off. */
  count(route: string, method: string, status: string, plan: string): void;
  /** @param seconds from the first step of the journey to the last byte of the response */
  observe(route: string, method: string, seconds: number): void;
}

interface RequestCount {
  labels: { route: string; method: string; status: string; plan: string };
  /** Requests since the counter was last collected. */
  requests: number;
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
          const count = { labels: { route, method, status, plan }, requests: 0 };
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
        if (count.requests > 0) this.inc(count.labels, count.requests);
        count.requests = 0;
      }
    },
  });
  registry.registerMetric(requests);
  const seconds = new PrelabelledHistogram({
    name: 'gateway_request_duration_seconds',
    help: 'Duration of a request, to the end of its response',
    labelNames: ['route', 'method'],
    buckets,
    registers: [registry],
  });
  const histogramOf = memoizeByString((route) =>
    memoizeByString((method): HistogramChild => seconds.child({ route, method })),
  );
  return {
    count(route, method, status, plan) {
      countOf(route)(method)(status)(plan).requests += 1;
    },
    observe(route, method, value) {
      histogramOf(route)(method).observe(value);
    },
  };
}

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
