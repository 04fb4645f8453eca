import express, { type Express } from 'express';
import { GatewayError } from '../errors.ts';
import type { TargetState } from '../upstream/target.ts';

/** What /readyz says. */
export interface Health {
  /** Ready for requests where it is ok, and only there. */
  status: 'starting' | 'ok' | 'draining';
  redis: 'ok' | 'unavailable';
  /** By origin. */
  upstreams: Record<string, TargetState>;
  /** Served without Redis and not yet in its day counters. */
  unreportedRequests: number;
  /** Where the gateway is more than one process. */
  workers?: { ready: number; wanted: number };
}

interface AdminDependencies {
  health: () => Health;
  /** In Prometheus' format. */
  metrics: () => Promise<string>;
  metricsType: string;
}

/** What operators and orchestrators ask of one gateway. On a port of its own, loopback by default. */
export function createAdminApp({ health, metrics, metricsType }: AdminDependencies): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag');
  app.get('/livez', (_req, res) => {
    res.json({ status: 'ok' });
  });
  // Trouble with Redis or the upstream is dealt with, and must not take every instance out at once: it shows here and not in the status.
  app.get('/readyz', (_req, res) => {
    const state = health();
    res.status(state.status === 'ok' ? 200 : 503).json(state);
  });
  app.get('/metrics', async (_req, res) => {
    res.type(metricsType).send(await metrics());
  });
  app.use((_req, res) => {
    const error = new GatewayError('not_found');
    res.status(error.status).json(error.body);
  });
  return app;
}
