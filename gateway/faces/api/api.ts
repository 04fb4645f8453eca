import express, { Router, type RequestHandler } from 'express';
import { hashSecret } from '../../control/access/expiring-secrets.ts';
import { listOf } from '../../control/list-schemas.ts';
import type { OperationContext } from '../../control/operation.ts';
import { countPlanCustomers } from '../../control/plans/plan-customers.ts';
import { operations } from '../../control/registry.ts';
import {
  createLive,
  liveStateSchema,
  shared,
  type Live,
  type LiveDependencies,
} from '../../control/status/live-state.ts';
import { trafficPointSchema } from '../../control/usage/traffic.ts';
import { assertRole, assertScopes, callerOf, isReading, requirePermission } from './access/caller.ts';
import type { ConsoleAccess } from './access/console-access.ts';
import { ApiError, renderApiError } from './api-error.ts';
import { changeReason } from './change-reason.ts';
import type { ConsoleRedis } from './console-redis.ts';
import { describeApi } from './document.ts';
import { operationRoutes } from './operation-routes.ts';
import { route, type Route } from './route.ts';
import { createConsoleSignIn, sessionSchema } from './session.ts';
import { sessionRoutes, type SessionApi } from './sessions.ts';

export interface LiveApi extends SessionApi {
  live: Live;
}

/** What consoles poll. It is no operation: it is read once for all who ask, and tells of an unavailable Redis. */
export const liveRoutes = [
  route({
    operationId: 'getLive',
    http: 'GET /live',
    noun: 'traffic',
    summary: 'What is wrong, gateways, services, Redis, and what was counted in the last minute',
    description: 'The overview asks for it every two seconds; one reading serves all consoles for a second.',
    responds: 'The state of all gateways',
    result: liveStateSchema,
    handle: (_call, { live }: LiveApi) => live.state(),
  }),
  route({
    operationId: 'getTraffic',
    http: 'GET /traffic',
    summary: 'Requests of all gateways by the minute in the last 24 hours',
    description:
      'A minute is there some seconds after its end; one reading serves all consoles for ten seconds.',
    responds: 'A point for each minute, oldest first, without those amid others without requests',
    result: listOf(trafficPointSchema),
    handle: async (_call, { live }: LiveApi) => ({ items: await live.traffic(), next: null }),
  }),
];

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
