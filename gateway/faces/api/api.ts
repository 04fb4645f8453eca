import express, { Router, type RequestHandler } from 'express';
import { hashSecret } from '../../control/access/expiring-secrets.ts';
import type { OperationContext } from '../../control/operation.ts';
import { countPlanCustomers } from '../../control/plans/plan-customers.ts';
import { operations } from '../../control/registry.ts';
import { createLive, shared, type LiveDependencies } from '../../control/status/live-state.ts';
import { assertRole, assertScopes, callerOf, isReading, requirePermission } from './access/caller.ts';
import type { ConsoleAccess } from './access/console-access.ts';
import { ApiError } from './api-error.ts';
import { changeReason } from './change-reason.ts';
import type { ConsoleRedis } from './console-redis.ts';
import { describeApi } from './document.ts';
import { liveRoutes, type LiveApi } from './live-routes.ts';
import { operationRoutes } from './operation-routes.ts';
import { renderApiError } from './render-api-error.ts';
import type { Route } from './route.ts';
import { createConsoleSignIn, sessionSchema } from './session.ts';
import { sessionRoutes } from './sessions.ts';

const parseBody = express.json({ limit: '64kb' });

export interface OperatorsApiDependencies
  extends Pick<OperationContext, 'publicOrigin' | 'webhookAllowedNetworks'>, Omit<LiveDependencies, 'read'> {
  redis: Pick<ConsoleRedis, 'read' | 'change'>;
  access: ConsoleAccess;
  /** Logs an error that is a bug, whose detail is never sent. */
  logUnexpected: (error: unknown) => void;
}

export const apiRoutes: readonly Route<LiveApi>[] = [
  ...sessionRoutes(sessionSchema),
  ...operationRoutes(operations),
  ...liveRoutes,
];

/** The operators' HTTP API, which the console uses. openapi.yaml is made from its routes. */
export function operatorsApi(dependencies: OperatorsApiDependencies): Router {
  const { access, logUnexpected } = dependencies;
  const api = createApi(dependencies);
  const router = Router();
  // Without a session: it holds no secrets. Not made at the start, which it would delay.
  let description: object | undefined;
  router.get('/openapi.json', (_req, res) => {
    res.set('Cache-Control', 'no-cache').json((description ??= describeApi(apiRoutes)));
  });
  const serve =
    ({ serve }: Route<LiveApi>): RequestHandler =>
    (req, res) =>
      serve(api, req, res);
  for (const route of apiRoutes) {
    const isOpen = route.operation.access === 'open';
    const checks = isOpen ? access.open : [access.guard, requirePermission(route)];
    router[route.method](route.path, ...checks, parseBody, serve(route));
  }
  // The checks are those of any path, so that none tells which paths there are.
  router.use(access.guard, requireRole, parseBody, () => {
    throw new ApiError('not_found');
  });
  router.use(renderApiError({ logUnexpected, traceRefusal: access.traceRefusal }));
  return router;
}

/** A viewer gets the same for a path that does not exist. */
const requireRole: RequestHandler = (req, _res, next) => {
  assertRole(callerOf(req), isReading(req));
  next();
};

/** With 100,000 customers, a count takes a second or two. */
const countAgeMs = 10_000;

function createApi(dependencies: OperatorsApiDependencies): LiveApi {
  const { redis, access, publicOrigin, webhookAllowedNetworks } = dependencies;
  const { read } = redis;
  const change: LiveApi['change'] = (req, use) =>
    redis.change({ who: callerOf(req).who, reason: changeReason(req) }, use);
  const planCustomers = shared(countAgeMs, () => read((session) => countPlanCustomers(session.redis)));
  return {
    read,
    change,
    sessions: createConsoleSignIn(access, { read, change }),
    live: createLive({ ...dependencies, read }),
    contextOf(req) {
      const caller = callerOf(req);
      return {
        publicOrigin,
        webhookAllowedNetworks,
        planCustomers,
        warn() {},
        sessionId: caller.session?.id,
        apiTokenHash: caller.scopes && hashSecret(caller.secret),
        assertScopes: (needed) => assertScopes(caller, needed),
      };
    },
  };
}
