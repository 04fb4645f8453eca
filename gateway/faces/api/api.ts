import express, { Router, type RequestHandler } from 'express';
import { countPlanCustomers } from '../../control/plans/plan-customers.ts';
import { operations } from '../../control/registry.ts';
import type { ConsoleAccess } from './access/console-access.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import { ApiError } from './api-error.ts';
import type { Live } from './live-state.ts';
import { liveRoutes } from './live.ts';
import { operationRoutes } from './operation-routes.ts';
import { renderApiError } from './render-api-error.ts';
import type { Api, Route } from './route.ts';
import { sessionRoutes } from './session.ts';
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
  ...operationRoutes(operations),
  ...liveRoutes,
  ...usageRoutes,
];

/** The operators' HTTP API, which the console uses. openapi.yaml is made from its routes. */
export function operatorsApi(dependencies: OperatorsApiDependencies): Router {
  const { access, logUnexpected } = dependencies;
  const api: Api = {
    ...dependencies,
    planCustomers: createPlanCustomers(),
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

/** With 100,000 customers, a count takes a second or two. */
const countAgeMs = 10_000;

/** Counts the customers of each plan for all consoles of this process. */
function createPlanCustomers(): Api['planCustomers'] {
  let count: { byPlan: Promise<ReadonlyMap<string, number>>; atMs: number } | undefined;
  return function planCustomers({ redis }) {
    const nowMs = performance.now();
    if (count === undefined || nowMs - count.atMs > countAgeMs) {
      const byPlan = countPlanCustomers(redis);
      count = { byPlan, atMs: nowMs };
      byPlan.catch(() => (count = undefined));
    }
    return count.byPlan;
  };
}
