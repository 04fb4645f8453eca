import { readFileSync } from 'node:fs';
import { parse as parseQuery } from 'node:querystring';
import type { Drain } from '#runtime/drain.ts';
import type { Tracing } from '#runtime/tracing.ts';
import express from 'express';
import type { Logger } from 'pino';
import { parse as parseYaml } from 'yaml';
import { recordAccess, traceRequest } from './access-log.ts';
import type { DatabaseHealth } from './database/database-health.ts';
import type { PetStore } from './database/pet-store.ts';
import { PetsError, renderError } from './errors.ts';
import { beginResponse, rejectMalformed } from './http.ts';
import { requireInternalToken, type VerifyToken } from './internal-token.ts';
import type { Metrics } from './metrics.ts';
import { petRoutes } from './pets/pet-routes.ts';

/** Orchestrators wait for a second or two, and a slow database must not fail their probes. */
const healthTimeoutMs = 500;

export interface PetsServiceDependencies {
  store: PetStore;
  health: Pick<DatabaseHealth, 'check' | 'everHealthy'>;
  metrics: Metrics;
  verifyToken: VerifyToken;
  drain: Pick<Drain, 'draining'>;
  tracing?: Tracing | undefined;
  log: Logger;
  now: () => number;
}

/**
 * The journey of a request, from top to bottom. Opens no socket: server.ts listens.
 * @returns the app, which responds to /livez, and to everything else with 503 until `open` is called
 */
export function createPetsService() {
  let isOpen = false;
  const app = express();
  app.disable('x-powered-by').disable('etag');
  app.enable('case sensitive routing').enable('strict routing');
  // As Express does, but without its limit on the number of parameters, beyond which one would be ignored.
  app.set('query parser', (query: string) => parseQuery(query, '&', '=', { maxKeys: 0 }));
  app.use(beginResponse());
  app.get('/livez', (_req, res) => {
    res.json({ status: 'ok' });
  });
  app.use(function rejectWhileStarting(_req, res, next) {
    if (isOpen) return next();
    const { body, status } = new PetsError('service_unavailable', { message: 'The service is starting.' });
    res.status(status).set('Retry-After', '1').json(body);
  });

  function open(dependencies: PetsServiceDependencies): void {
    const { store, health, metrics, verifyToken, drain, tracing, log, now } = dependencies;
    // The database shows in the body, and not in the status once the service has started: an outage must not take every
    // instance out at once.
    app.get('/readyz', async (_req, res) => {
      const database = await health.check(healthTimeoutMs);
      const status = drain.draining ? 'draining' : health.everHealthy() ? 'ok' : 'starting';
      res.status(status === 'ok' ? 200 : 503).json({ status, database });
    });
    app.get('/metrics', async (_req, res) => {
      res.type(metrics.registry.contentType).send(await metrics.registry.metrics());
    });
    const description: unknown = parseYaml(readFileSync(new URL('openapi.yaml', import.meta.url), 'utf8'));
    app.get('/openapi.json', (_req, res) => {
      res.json(description);
    });
    app.use(recordAccess({ log, metrics }), rejectMalformed(), requireInternalToken(verifyToken));
    if (tracing !== undefined) app.use(traceRequest(tracing));
    app.use(petRoutes(store, now));
    app.use(function notFound() {
      throw new PetsError('not_found');
    });
    app.use(renderError({ log }));
    isOpen = true;
  }

  return { app, open };
}
