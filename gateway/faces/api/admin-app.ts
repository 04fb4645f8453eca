import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Router } from 'express';
import { z } from 'zod';
import type { Health } from '../../control/status/service.ts';
import { GatewayError } from '../../errors.ts';
import { securityHeaders } from '../../platform/http/send-response.ts';
import { isHttpsOnly } from './access/console-access.ts';
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
  app.use(notFound);
  app.use(renderError(logUnexpected));
  return app;
}

const notFound: RequestHandler = (_req, res) => {
  const error = new GatewayError('not_found');
  res.status(error.status).json(error.body);
};

/** Errors of the router and its static files for an invalid request, such as a path that ends with %. */
const requestErrorSchema = z.object({ status: z.int().min(400).max(499) });

function renderError(logUnexpected: (error: unknown) => void): ErrorRequestHandler {
  return function renderError(thrown: unknown, _req, res, _next) {
    const fault = requestErrorSchema.safeParse(thrown).data;
    if (fault === undefined) logUnexpected(thrown);
    if (res.headersSent) return void res.destroy();
    const error =
      fault === undefined ? new GatewayError('internal_error') : new GatewayError('bad_request', fault);
    res.status(error.status).json(error.body);
  };
}
