import express, { Router } from 'express';
import type { ConsoleAccess } from '../access/console-access.ts';
import type { LiveFeed } from '../live/live-feed.ts';
import { addressesApi } from './addresses.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import { ApiError } from './api-error.ts';
import { auditApi } from './audit.ts';
import { bansApi } from './bans.ts';
import { keysApi } from './keys.ts';
import { liveApi } from './live.ts';
import { plansApi } from './plans.ts';
import { renderApiError } from './render-api-error.ts';
import { sessionApi } from './session.ts';
import { settingsApi } from './settings.ts';
import { trafficApi } from './traffic.ts';

const maxBody = '64kb';

interface OperatorsApiDependencies extends ApiDependencies {
  access: ConsoleAccess;
  live: LiveFeed;
  /** Logs an error that is a bug, whose detail is never sent. */
  logUnexpected: (error: unknown) => void;
}

/** The operators' HTTP API (openapi.yaml), which the console uses. One router a noun. */
export function operatorsApi(dependencies: OperatorsApiDependencies): Router {
  const { read, search, change, access, live, logUnexpected } = dependencies;
  const api: ApiDependencies = { read, search, change };
  const router = Router();
  const json = express.json({ limit: maxBody });
  // Without a session, since it begins one.
  router.use(sessionApi(api, access));
  router.use(access.guard, json);
  router.use(
    addressesApi(api),
    auditApi(api),
    bansApi(api),
    keysApi(api),
    liveApi(live),
    plansApi(api),
    settingsApi(api),
    trafficApi(api),
  );
  router.use(() => {
    throw new ApiError('not_found');
  });
  router.use(renderApiError({ logUnexpected, traceRefusal: access.traceRefusal }));
  return router;
}
