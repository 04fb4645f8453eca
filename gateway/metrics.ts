import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';

export interface Metrics {
  registry: Registry;
  /** Answered requests. Labels are bounded: patterns of routes, never paths or keys. */
  requests: Counter<'route' | 'method' | 'status'>;
  /** 1 while Redis does not answer and decisions are local. */
  localMode: Gauge;
  localDecisions: Counter;
  /** Faults found in a Redis value that operators set, by Redis key. */
  badSettings: Gauge<'key'>;
}

/** Metrics in Prometheus' format, for the admin port. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    registry,
    requests: new Counter({
      name: 'gateway_requests_total',
      help: 'Answered requests',
      labelNames: ['route', 'method', 'status'],
      registers,
    }),
    localMode: new Gauge({
      name: 'gateway_local_mode',
      help: '1 while Redis does not answer and quotas are counted by this instance alone',
      registers,
    }),
    localDecisions: new Counter({
      name: 'gateway_local_decisions_total',
      help: 'Requests decided on without Redis',
      registers,
    }),
    badSettings: new Gauge({
      name: 'gateway_bad_settings',
      help: 'Unusable fields in a Redis value that operators set; the last good value stays in force',
      labelNames: ['key'],
      registers,
    }),
  };
}
