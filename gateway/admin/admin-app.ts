import express, { type Express } from 'express';
import { GatewayError } from '../errors.ts';
import type { Health } from '../service.ts';
import { rejectUnknownHost } from './reject-unknown-host.ts';

interface AdminDependencies {
  health: () => Health;
  /** Metrics in Prometheus' text format. */
  metrics: () => Promise<string>;
  metricsType: string;
  /** Host names of the admin port other than localhost, in lower case. */
  hostNames: readonly string[];
}

/** Health and metrics of one gateway, for orchestrators and Prometheus. Has a port of its own, on loopback by default. */
export function createAdminApp({ health, metrics, metricsType, hostNames }: AdminDependencies): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag');
  app.use(rejectUnknownHost(hostNames));
  app.get('/livez', (_req, res) => {
    res.json({ status: 'ok' });
  });
  // Redis and the upstream show in the body and not in the status: an outage must not take every instance out at once.
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
