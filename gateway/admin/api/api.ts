import express, { Router, type RequestHandler } from 'express';
import { operations } from '../../operations/registry.ts';
import type { ConsoleAccess } from '../access/console-access.ts';
import type { Live } from '../live-state.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import { ApiError } from './api-error.ts';
import { auditRoutes } from './audit.ts';
import { liveRoutes } from './live.ts';
import { operationRoutes } from './operation-routes.ts';
import { createPlanCustomers } from './plan-view.ts';
import { plansRoutes } from './plans.ts';
import { renderApiError } from './render-api-error.ts';
import type { Api, Route } from './route.ts';
import { sessionRoutes } from './session.ts';
import { sessionsRoutes } from './sessions.ts';
import { settingsRoutes } from './settings.ts';
import { createUsageDownload } from './usage-download.ts';
import { usageRoutes } from './usage.ts';

const maxBody = '64kb';
const maxCodeBody = '1kb';

interface OperatorsApiDependencies extends ApiDependencies {
  access: ConsoleAccess;
  publicOrigin: () => string;
  live: Live;
  /** Logs an error that is a bug, whose detail is never sent. */
  logUnexpected: (error: unknown) => void;
}

export const apiRoutes: readonly Route[] = [
  ...sessionRoutes,
  ...auditRoutes,
  ...operationRoutes(operations),
  ...liveRoutes,
  ...plansRoutes,
  ...sessionsRoutes,
  ...settingsRoutes,
  ...usageRoutes,
];

/** The operators' HTTP API, which the console uses. openapi.yaml is made from its routes. */
export function operatorsApi(dependencies: OperatorsApiDependencies): Router {
  const { access, logUnexpected } = dependencies;
  const api: Api = {
    ...dependencies,
    planCustomers: createPlanCustomers(dependencies),
    downloadUsage: createUsageDownload(dependencies),
  };
  const router = Router();
  const serve =
    ({ serve }: Route): RequestHandler =>
    (req, res) =>
      serve(api, req, res);
  const openRoutes = apiRoutes.filter(({ operation }) => operation.access === 'open');
  const guardedRoutes = apiRoutes.filter((route) => !openRoutes.includes(route));
  for (const route of openRoutes) {
    router[route.method](route.path, ...access.open, express.json({ limit: maxCodeBody }), serve(route));
  }
  router.use(access.guard(guardedRoutes), express.json({ limit: maxBody }));
  for (const route of guardedRoutes) router[route.method](route.path, serve(route));
  router.use(() => {
    throw new ApiError('not_found');
  });
  router.use(renderApiError({ logUnexpected, traceRefusal: access.traceRefusal }));
  return router;
}
