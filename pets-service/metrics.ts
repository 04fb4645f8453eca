import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import packageJson from '../package.json' with { type: 'json' };

export type Metrics = ReturnType<typeof createMetrics>;

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Metrics of one instance. Labels are bounded: routes and never paths, names of configured callers and never subjects. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  // Those whose names `promtool check metrics` refuses.
  for (const { name } of registry.getMetricsAsArray()) {
    if (/^nodejs_(active_.+_total|eventloop_utilization_.+)$/.test(name)) registry.removeSingleMetric(name);
  }
  new Gauge({
    name: 'pets_build_info',
    help: 'Always 1; the labels say which version runs, on which version of Node',
    labelNames: ['version', 'node_version'],
    registers,
  }).set({ version: packageJson.version, node_version: process.version }, 1);
  const requests = new Counter({
    name: 'pets_requests_total',
    help: 'Finished requests; 499 is a caller that left before the response',
    labelNames: ['route', 'method', 'status', 'caller'],
    registers,
  });
  const requestSeconds = new Histogram({
    name: 'pets_request_duration_seconds',
    help: 'Duration of a request, to the end of its response',
    labelNames: ['route', 'method'],
    buckets,
    registers,
  });
  const statementSeconds = new Histogram({
    name: 'pets_database_statement_duration_seconds',
    help: 'Duration of a query, with its wait for a connection',
    labelNames: ['pool'],
    buckets,
    registers,
  });
  // Prometheus sees no increase in a series that begins at 1.
  for (const pool of ['reads', 'writes']) statementSeconds.zero({ pool });
  for (const [method, route, success] of operations) {
    requestSeconds.zero({ route, method });
    for (const status of [success, 500, 503]) requests.inc({ route, method, status, caller: 'gateway' }, 0);
  }

  return {
    registry,
    /** @param caller issuer of the token, or `none` without a valid one */
    recordRequest(path: string, method: string, status: number, caller: string, seconds: number): void {
      const labels = { route: routeOf(path) ?? 'unmatched', method: knownMethod(method) ?? 'other' };
      requests.inc({ ...labels, status, caller });
      requestSeconds.observe(labels, seconds);
    },
    /** @param pool `reads` or `writes` */
    recordStatement: (pool: string, seconds: number) => statementSeconds.observe({ pool }, seconds),
  };
}

const operations = [
  ['GET', '/v1/pets', 200],
  ['POST', '/v1/pets', 201],
  ['GET', '/v1/pets/{petId}', 200],
] as const;

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** @returns undefined for a method that a caller may have invented: metrics and names of spans must not grow with them */
export const knownMethod = (method: string) => (methods.has(method) ? method : undefined);

/** @returns undefined for a path that the service does not have */
export function routeOf(path: string): string | undefined {
  if (path === '/v1/pets') return path;
  return /^\/v1\/pets\/[^/]+$/.test(path) ? '/v1/pets/{petId}' : undefined;
}
