import express, { type Express, type Router } from 'express';
import { GatewayError } from '../errors.ts';
import { securityHeaders } from '../http/security-headers.ts';
import type { Health } from '../service.ts';
import { rejectUnknownHost } from './reject-unknown-host.ts';
import { shareRenderings } from './share-renderings.ts';

interface AdminDependencies {
  health: () => Health;
  /** Metrics in Prometheus' text format. */
  metrics: () => Promise<string>;
  metricsType: string;
  /** Host names of the admin port other than localhost, in lower case. */
  hostNames: readonly string[];
  /** The operators' API. */
  api: Router;
  /** Pages of the console. */
  pages: Router;
}

/**
 * The admin port of one gateway, on loopback by default. Health and metrics are open, for orchestrators and Prometheus;
 * the API checks who asks.
 */
export function createAdminApp(dependencies: AdminDependencies): Express {
  const { health, metrics, metricsType, hostNames, api, pages } = dependencies;
  const app = express();
  app.disable('x-powered-by').disable('etag');
  app.use((_req, res, next) => {
    res.set(securityHeaders).set('Cross-Origin-Resource-Policy', 'same-origin');
    next();
  });
  app.use(rejectUnknownHost(hostNames));
  app.get('/livez', (_req, res) => {
    res.json({ status: 'ok' });
  });
  // Redis and the upstream show in the body and not in the status: an outage must not take every instance out at once.
  app.get('/readyz', (_req, res) => {
    const state = health();
    res.status(state.status === 'ok' ? 200 : 503).json(state);
  });
  const renderMetrics = shareRenderings(metrics);
  app.get('/metrics', async (_req, res) => {
    res.type(metricsType).send(await renderMetrics());
  });
  app.use('/api', api);
  app.use(pages);
  app.use((_req, res) => {
    const error = new GatewayError('not_found');
    res.status(error.status).json(error.body);
  });
  return app;
}
