import express, { Router } from 'express';
import type { ConsoleAccess } from '../access/console-access.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import { ApiError } from './api-error.ts';
import { auditApi } from './audit.ts';
import { bansApi } from './bans.ts';
import { keysApi } from './keys.ts';
import { plansApi } from './plans.ts';
import { renderApiError } from './render-api-error.ts';
import { sessionApi } from './session.ts';
import { settingsApi } from './settings.ts';

const maxBody = '64kb';

interface OperatorsApiDependencies extends ApiDependencies {
  access: ConsoleAccess;
  /** Told of what is a bug: its detail is never sent. */
  logUnexpected: (error: unknown) => void;
}

/** The operators' HTTP API (openapi.yaml), which the console uses. One router a noun. */
export function operatorsApi({ read, change, access, logUnexpected }: OperatorsApiDependencies): Router {
  const api: ApiDependencies = { read, change };
  const router = Router();
  router.use((_req, res, next) => {
    res.set('Cache-Control', 'no-store').set('X-Content-Type-Options', 'nosniff');
    next();
  });
  const json = express.json({ limit: maxBody });
  // Without a session, since it begins one.
  router.use(sessionApi(api, access));
  router.use(access.guard, json);
  router.use(auditApi(api), bansApi(api), keysApi(api), plansApi(api), settingsApi(api));
  router.use(() => {
    throw new ApiError('not_found');
  });
  router.use(renderApiError({ logUnexpected }));
  return router;
}
