import { parse as parseQuery } from 'node:querystring';
import { setTimeout as sleep } from 'node:timers/promises';
import express, { type Express } from 'express';
import type { Logger } from 'pino';
import { recordAccess } from './access-log.ts';
import type { DatabaseHealth } from './database/database-health.ts';
import type { PetStore } from './database/pet-store.ts';
import { renderError } from './error-handler.ts';
import { PetsError } from './errors.ts';
import { rejectMalformed } from './http/reject-malformed.ts';
import { setSecurityHeaders } from './http/security-headers.ts';
import { requireInternalToken, type VerifyToken } from './internal-token.ts';
import { petRoutes } from './pets/pet-routes.ts';
import type { Drain } from './runtime/drain.ts';

/** Orchestrators wait for a second or two; a database that is slow is not their business. */
const pingTimeoutMs = 500;

export interface PetsServiceDependencies {
  store: PetStore;
  health: Pick<DatabaseHealth, 'ask' | 'proven'>;
  verifyToken: VerifyToken;
  drain: Pick<Drain, 'draining'>;
  log: Logger;
  now: () => number;
}

/** The journey of a request, from top to bottom. Opens no socket: server.ts listens. */
export function createPetsService(dependencies: PetsServiceDependencies): Express {
  const { store, health, verifyToken, drain, log, now } = dependencies;
  const app = express();
  app.disable('x-powered-by').disable('etag');
  app.enable('case sensitive routing').enable('strict routing');
  // As Express does, but without a limit on their number, beyond which the one that counts would be overlooked.
  app.set('query parser', (query: string) => parseQuery(query, '&', '=', { maxKeys: 0 }));
  app.use(setSecurityHeaders());

  app.get('/livez', (_req, res) => {
    res.json({ status: 'ok' });
  });
  // Later trouble with the database shows in the body and not in the status: it must not take every instance out at once.
  app.get('/readyz', async (_req, res) => {
    const database = await Promise.race([health.ask(), sleep(pingTimeoutMs, 'unavailable', { ref: false })]);
    const status = drain.draining ? 'draining' : health.proven ? 'ok' : 'starting';
    res.status(status === 'ok' ? 200 : 503).json({ status, database });
  });
  app.use(recordAccess(log));
  app.use(rejectMalformed());
  app.use(requireInternalToken(verifyToken));
  app.use(petRoutes({ store, now }));
  app.use(function notFound() {
    throw new PetsError('not_found');
  });
  app.use(renderError({ log }));
  return app;
}
