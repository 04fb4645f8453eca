import express, { type Express, type Router } from 'express';
import type { Health } from '../control/status/service.ts';
import { isHttpsOnly } from '../faces/api/access/console-access.ts';
import { ApiError } from '../faces/api/api-error.ts';
import { renderApiError } from '../faces/api/render-api-error.ts';
import { securityHeaders } from '../platform/http/response.ts';
import { rejectUnknownHost } from './reject-unknown-host.ts';

interface AdminDependencies {
  health: () => Health;
  /** Metrics in Prometheus' text format. */
  metrics: () => Promise<string>;
  metricsType: string;
  /** Host names of the admin port other than localhost, in lower case. */
  hostNames: readonly string[];
  /** The setting ADMIN_URL. */
  adminUrl: string | undefined;
  /** The operators' API. */
  api: Router;
  /** Pages of the console. */
  pages: Router;
  /** Logs an error that is a bug, whose detail is never sent. */
  logUnexpected: (error: unknown) => void;
}

/**
 * The admin port of one gateway, on loopback by default. Health and metrics are open, for orchestrators and Prometheus;
 * the API checks who asks.
 */
export function createAdminApp(dependencies: AdminDependencies): Express {
  const { health, metrics, metricsType, hostNames, adminUrl, api, pages, logUnexpected } = dependencies;
  const app = express();
  app.disable('x-powered-by').disable('etag');
  app.use((_req, res, next) => {
    res.set(securityHeaders).set('Cross-Origin-Resource-Policy', 'same-origin');
    next();
  });
  app.use(rejectUnknownHost(hostNames));
  if (isHttpsOnly(adminUrl)) {
    app.use((_req, res, next) => {
      res.set('Strict-Transport-Security', 'max-age=31536000');
      next();
    });
  }
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
  app.use('/api', api);
  app.use(pages);
  app.use(() => {
    throw new ApiError('not_found');
  });
  app.use(renderApiError({ logUnexpected }));
  return app;
}
