import express, { type Express } from 'express';
import type { Logger } from 'pino';
import { renderError } from './error-handler.ts';
import { PetsError } from './errors.ts';
import { int64Replacer } from './int64.ts';
import { requireInternalToken, type VerifyToken } from './internal-token.ts';
import { petRoutes } from './pet-routes.ts';
import type { PetStore } from './pet-store.ts';

export interface PetsServiceDependencies {
  store: PetStore;
  verifyToken: VerifyToken;
  /** True once the service takes no new requests. */
  draining: () => boolean;
  log: Logger;
  now: () => number;
}

/** The journey of a request, from top to bottom. Opens no socket: server.ts listens. */
export function createPetsService(dependencies: PetsServiceDependencies): Express {
  const { store, verifyToken, draining, log, now } = dependencies;
  const app = express();
  app.disable('x-powered-by').disable('etag');
  app.enable('case sensitive routing').enable('strict routing');
  app.set('json replacer', int64Replacer);

  app.get('/livez', (_req, res) => {
    res.json({ status: 'ok' });
  });
  // Database trouble shows in the body and not in the status: it must not take every instance out at once.
  app.get('/readyz', async (_req, res) => {
    const database = await store.ping().then(
      () => 'ok',
      () => 'unavailable',
    );
    res.status(draining() ? 503 : 200).json({ status: draining() ? 'draining' : 'ok', database });
  });
  app.use(requireInternalToken(verifyToken));
  app.use(petRoutes({ store, now }));
  app.use(function notFound() {
    throw new PetsError('not_found');
  });
  app.use(renderError({ log }));
  return app;
}
