import express, { type Express } from 'express';
import type { DayUsage } from './quota/day-usage.ts';
import type { Drain } from './http/drain.ts';
import { GatewayError } from './errors.ts';
import type { Metrics } from './metrics.ts';
import type { RedisGate } from './redis/redis-gate.ts';
import type { Upstreams } from './upstream/upstreams.ts';

interface AdminDependencies {
  drain: Drain;
  gate: RedisGate;
  metrics: Metrics;
  dayUsage: DayUsage;
  upstreams: Pick<Upstreams, 'targets'>;
}

/** What operators and orchestrators ask of one instance. On a port of its own, loopback by default. */
export function createAdminApp(dependencies: AdminDependencies): Express {
  const { drain, gate, metrics, dayUsage, upstreams } = dependencies;
  const app = express();
  app.disable('x-powered-by').disable('etag');
  app.get('/livez', (_req, res) => {
    res.json({ status: 'ok' });
  });
  // Trouble with Redis or the upstream is dealt with, and must not take every instance out at once: it shows here and not in the status.
  app.get('/readyz', (_req, res) => {
    res.status(drain.draining ? 503 : 200).json({
      status: drain.draining ? 'draining' : 'ok',
      redis: gate.open ? 'ok' : 'unavailable',
      upstreams: Object.fromEntries(upstreams.targets.map(({ origin, state }) => [origin, state])),
      unreportedRequests: dayUsage.pending(),
    });
  });
  app.get('/metrics', async (_req, res) => {
    res.type(metrics.registry.contentType).send(await metrics.registry.metrics());
  });
  app.use((_req, res) => {
    const error = new GatewayError('not_found');
    res.status(error.status).json(error.body);
  });
  return app;
}
