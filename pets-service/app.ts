import { readFileSync } from 'node:fs';
import { parse as parseQuery } from 'node:querystring';
import express, { type Express } from 'express';
import type { Logger } from 'pino';
import { parse as parseYaml } from 'yaml';
import type { DatabaseHealth } from './database/database-health.ts';
import type { PetStore } from './database/pet-store.ts';
import { PetsError, renderError } from './errors.ts';
import { beginResponse, rejectMalformed } from './http.ts';
import { requireInternalToken, type VerifyToken } from './internal-token.ts';
import { recordAccess } from './log.ts';
import type { Metrics } from './metrics.ts';
import { petRoutes } from './pets/pet-routes.ts';
import { traceRequest } from './tracing.ts';

/** Orchestrators wait for a second or two, and a slow database must not fail their probes. */
const healthTimeoutMs = 500;

export interface PetsServiceDependencies {
  store: PetStore;
  health: Pick<DatabaseHealth, 'check' | 'everHealthy'>;
  metrics: Metrics;
  verifyToken: VerifyToken;
  isDraining: () => boolean;
  log: Logger;
  now: () => number;
}

/** The journey of a request, from top to bottom. Opens no socket: server.ts listens. */
export function createPetsService(dependencies: PetsServiceDependencies): Express {
  const { store, health, metrics, verifyToken, isDraining, log, now } = dependencies;
  const app = express();
  app.disable('x-powered-by').disable('etag');
  app.enable('case sensitive routing').enable('strict routing');
  // As Express does, but without its limit on the number of parameters, beyond which one would be ignored.
  app.set('query parser', (query: string) => parseQuery(query, '&', '=', { maxKeys: 0 }));
  app.use(beginResponse(isDraining));
  app.get('/livez', (_req, res) => {
    res.json({ status: 'ok' });
  });
  // The database shows in the body, and not in the status once the service has started: an outage must not take every
  // instance out at once.
  app.get('/readyz', async (_req, res) => {
    const database = await health.check(healthTimeoutMs);
    const status = isDraining() ? 'draining' : health.everHealthy() ? 'ok' : 'starting';
    res.status(status === 'ok' ? 200 : 503).json({ status, database });
  });
  app.get('/metrics', async (_req, res) => {
    res.type(metrics.registry.contentType).send(await metrics.registry.metrics());
  });
  const description: unknown = parseYaml(readFileSync(new URL('openapi.yaml', import.meta.url), 'utf8'));
  app.get('/openapi.json', (_req, res) => {
    res.json(description);
  });
  app.use(recordAccess({ log, metrics }), rejectMalformed());
  app.use(requireInternalToken(verifyToken), traceRequest(), petRoutes(store, now));
  app.use(function notFound() {
    throw new PetsError('not_found');
  });
  app.use(renderError({ log }));
  return app;
}
