import { Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import { collectProcessMetrics } from '#runtime/process-metrics.ts';
import type { PoolState } from './database/pet-store.ts';

interface RecordedRequest {
  path: string;
  method: string;
  status: number;
  /** Issuer of the token; undefined without a valid one. */
  caller: string | undefined;
  seconds: number;
}

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * Metrics of one instance. Labels are bounded: routes and never paths, names of configured callers and never subjects.
 * @param pools reads the state of the connections to the database
 * @param callers issuers of tokens that are accepted
 */
export function createMetrics(pools: () => PoolState[], callers: readonly string[] = []) {
  const registry = new Registry();
  const registers = [registry];
  collectProcessMetrics(registry, 'pets');
  const requests = new Counter({
    name: 'pets_requests_total',
    help: 'Finished requests; 499 is a caller that left before the response',
    labelNames: ['route', 'method', 'status', 'caller'],
    registers,
  });
  const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
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
  const gauges = [
    ['pets_database_connections', 'Connections that a pool may have', 'size'],
    ['pets_database_connections_busy', 'Connections that run a query', 'running'],
    ['pets_database_waiting', 'Queries that wait for a connection', 'waiting'],
  ] as const;
  for (const [name, help, field] of gauges) {
    const gauge = new Gauge({
      name,
      help,
      labelNames: ['pool'],
      registers,
      collect() {
        for (const pool of pools()) gauge.set({ pool: pool.name }, pool[field]);
      },
    });
  }

  // Prometheus sees no increase in a series that begins at 1.
  for (const { name } of pools()) statementSeconds.zero({ pool: name });
  for (const [method, route, success] of operations) {
    requestSeconds.zero({ route, method });
    for (const status of [success, 500, 503]) {
      for (const caller of callers) requests.inc({ route, method, status, caller }, 0);
    }
  }

  return {
    registry,
    recordRequest({ path, method, status, caller = 'none', seconds }: RecordedRequest): void {
      const labels = { route: routeOf(path) ?? 'unmatched', method: methods.has(method) ? method : 'other' };
      requests.inc({ ...labels, status, caller });
      requestSeconds.observe(labels, seconds);
    },
    /** @param pool `reads` or `writes` */
    recordStatement: (pool: string, seconds: number) => statementSeconds.observe({ pool }, seconds),
  };
}

/** Operations of the API, with their status. */
const operations = [
  ['GET', '/v1/pets', 200],
  ['POST', '/v1/pets', 201],
  ['GET', '/v1/pets/{petId}', 200],
] as const;

/** Callers can invent methods, and a metric must not grow with them. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** @returns undefined for a path that the service does not have */
export function routeOf(path: string): string | undefined {
  if (path === '/v1/pets') return path;
  return /^\/v1\/pets\/[^/]+$/.test(path) ? '/v1/pets/{petId}' : undefined;
}
