import { Counter, type Registry } from 'prom-client';
import { QuickHistogram, type Observations } from './prelabelled-histogram.ts';

/** What is counted of every request. Labels are bounded, see Metrics. */
export interface RequestCounts {
  /** `status` is a class such as 2xx; aborted where the client went away first, cut_off where we broke off. */
  count(route: string, method: string, status: string, plan: string): void;
  /** @param seconds from the first step of the journey to the last byte of the answer being written */
  observe(route: string, method: string, seconds: number): void;
}

interface Count {
  labels: { route: string; method: string; status: string; plan: string };
  /** Since it was last told. */
  requests: number;
}

/**
 * Counts requests in objects of their own and tells prom-client when it is asked: its own way from labels to a counter
 * is one of the longer ones of a request.
 */
export function createRequestCounts(registry: Registry, buckets: number[]): RequestCounts {
  const counts: Count[] = [];
  const countOf = byText((route: string) =>
    byText((method: string) =>
      byText((status: string) =>
        byText((plan: string) => {
          const count = { labels: { route, method, status, plan }, requests: 0 };
          counts.push(count);
          return count;
        }),
      ),
    ),
  );
  const requests = new Counter({
    name: 'gateway_requests_total',
    help: 'Answered requests, by class of status; aborted by the client, or cut off by us',
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
  const seconds = new QuickHistogram({
    name: 'gateway_request_duration_seconds',
    help: 'Time from a request to the end of its answer',
    labelNames: ['route', 'method'],
    buckets,
    registers: [registry],
  });
  const observationsOf = byText((route: string) =>
    byText((method: string): Observations => seconds.observationsOf({ route, method })),
  );
  return {
    count(route, method, status, plan) {
      countOf(route)(method)(status)(plan).requests += 1;
    },
    observe(route, method, value) {
      observationsOf(route)(method).add(value);
    },
  };
}

/** Made once for each text. */
function byText<Made>(make: (text: string) => Made): (text: string) => Made {
  const made = new Map<string, Made>();
  return function get(text) {
    let known = made.get(text);
    if (known === undefined) {
      known = make(text);
      made.set(text, known);
    }
    return known;
  };
}
