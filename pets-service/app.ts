import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import express, { type Express, type RequestHandler } from 'express';
import type { Logger } from 'pino';
import { parse as parseYaml } from 'yaml';
import type { PetStore } from './database/pet-store.ts';
import { PetsError, renderError } from './errors.ts';
import { requireInternalToken, type VerifyToken } from './internal-token.ts';
import { recordAccess, type Metrics } from './observability.ts';
import { petRoutes } from './pets/pet-routes.ts';

interface PetsServiceDependencies {
  store: PetStore;
  metrics: Metrics;
  verifyToken: VerifyToken;
  isDraining: () => boolean;
  log: Logger;
  now: () => number;
}

/** The journey of a request, from top to bottom. Opens no socket: server.ts listens. */
export function createPetsService(dependencies: PetsServiceDependencies): Express {
  const { store, metrics, verifyToken, isDraining, log, now } = dependencies;
  const app = express();
  app.disable('x-powered-by').disable('etag');
  app.enable('case sensitive routing').enable('strict routing');
  app.use(beginResponse(isDraining));
  app.get('/livez', (_req, res) => {
    res.json({ status: 'ok' });
  });
  // The database shows in the body, and not in the status once the service has started: an outage must not take every
  // instance out at once.
  app.get('/readyz', async (_req, res) => {
    const database = await store.check();
    const status = isDraining() ? 'draining' : store.everAvailable() ? 'ok' : 'starting';
    res.status(status === 'ok' ? 200 : 503).json({ status, database });
  });
  app.get('/metrics', async (_req, res) => {
    res.type(metrics.registry.contentType).send(await metrics.registry.metrics());
  });
  const description: unknown = parseYaml(readFileSync(new URL('openapi.yaml', import.meta.url), 'utf8'));
  app.get('/openapi.json', (_req, res) => {
    res.json(description);
  });
  app.use(recordAccess({ log, metrics }), requireInternalToken(verifyToken), petRoutes(store, now));
  app.use(function notFound() {
    throw new PetsError('not_found');
  });
  app.use(renderError({ log }));
  return app;
}

/** The form of the gateway's request ids. Anything else could be an attempt to write into the log. */
const wellFormedId = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * Keeps the X-Request-Id of a caller if it is well-formed and makes one otherwise. Sets the headers of every response, which
 * must not be stored and has the type that it says.
 */
function beginResponse(isDraining: () => boolean): RequestHandler {
  return function beginResponse(req, res, next) {
    const offered = req.get('x-request-id') ?? '';
    res.locals.requestId = wellFormedId.test(offered) ? offered : randomUUID();
    res.setHeader('X-Request-Id', res.locals.requestId);
    res.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' });
    if (isDraining()) res.shouldKeepAlive = false;
    next();
  };
}
