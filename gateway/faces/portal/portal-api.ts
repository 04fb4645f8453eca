import express, { Router, type Request } from 'express';
import type { Logger } from 'pino';
import { z } from 'zod';
import { portalOperations } from '../../control/access/portal-operations.ts';
import {
  beginPortalSession,
  endPortalSession,
  findPortalCode,
  portalSessionMs,
  type PortalSession,
} from '../../control/access/portal-sessions.ts';
import { showCustomer, UnknownCustomer } from '../../control/customers/stored-customers.ts';
import { IssueForOperators, StaleKey } from '../../control/invalid-operation.ts';
import { OvertakenChange } from '../../control/overtaken-change.ts';
import { countPlanCustomers } from '../../control/plans/plan-customers.ts';
import { callerOf } from '../api/access/caller.ts';
import { ApiError, renderApiError } from '../api/api-error.ts';
import type { ConsoleRedis } from '../api/console-redis.ts';
import { operationRoutes } from '../api/operation-routes.ts';
import type { Route, RouteApi } from '../api/route.ts';
import {
  createSessions,
  sessionFields,
  sessionRoutes,
  type SessionApi,
  type Sessions,
} from '../api/sessions.ts';
import { customerMessages, type PortalAccess } from './portal-access.ts';

interface PortalApiDependencies {
  redis: () => Promise<Pick<ConsoleRedis, 'read' | 'change'>>;
  access: PortalAccess;
  /** Scopes that a key can have. */
  scopes: readonly string[];
  publicOrigin: (req: Request) => string;
  log: Logger;
}

export const portalApiPath = '/portal/api';

const sessionSchema = z
  .object({
    customerId: z.string(),
    ...sessionFields,
    scopes: z.array(z.string()).describe('Scopes that a key can have'),
  })
  .meta({ id: 'Session' });

export type PortalSessionView = z.infer<typeof sessionSchema>;

/** All that a customer can see and do, below `/portal/api`. No token permits it. */
export const portalRoutes: readonly Route[] = operationRoutes(
  portalOperations.map((operation) => Object.assign({}, operation, { noun: null })),
);
export const portalApiRoutes: readonly Route<SessionApi>[] = [
  ...sessionRoutes(sessionSchema),
  ...portalRoutes,
];

const maxBody = '16kb';

/** Operations that take access away. */
const ends = new Set(['endSession', 'revokeKey']);

/** The portal's API: what a customer sees and does, as JSON. */
export function createPortalApi(dependencies: PortalApiDependencies): Router {
  const { access, log } = dependencies;
  const api = createApi(dependencies);
  const router = Router();
  for (const { method, path, operation, serve } of portalApiRoutes) {
    const guard = ends.has(operation.operationId) ? access.guardOfEnd : access.guard;
    const checks = operation.access === 'open' ? access.open : guard;
    router[method](path, ...checks, express.json({ limit: maxBody }), (req, res) => serve(api, req, res));
  }
  router.use(
    renderApiError({
      logUnexpected: (error) => log.error({ err: error }, 'unexpected error in the portal'),
      reword,
    }),
  );
  return router;
}

function createApi(dependencies: PortalApiDependencies): SessionApi {
  const { redis, publicOrigin, log } = dependencies;
  return {
    read: async (use) => (await redis()).read(use),
    async change(req, use) {
      const { who, customer } = callerOf(req);
      const { result, warnings, isConfirmed } = await (await redis()).change({ who, reason: undefined }, use);
      // They are about Redis, which is its operator's.
      for (const warning of warnings) log.warn({ customer }, `a change in the portal: ${warning}`);
      return { result, warnings: isConfirmed ? [] : [mayBeLost] };
    },
    contextOf: (req) => ({
      customer: callerOf(req).customer,
      publicOrigin: () => publicOrigin(req),
      webhookAllowedNetworks: [],
      planCustomers: (session) => countPlanCustomers(session.redis),
      warn() {},
      assertScopes() {},
    }),
    sessions: createPortalSessions(dependencies),
  };
}

const mayBeLost = 'The change was made, but it is not certain that it is kept. Look again in a few minutes.';

function createPortalSessions({ redis, access, scopes }: PortalApiDependencies): Sessions {
  const read: RouteApi['read'] = async (use) => (await redis()).read(use);
  const nameOf = ({ customerId }: PortalSession) =>
    read(async (session) => (await showCustomer(session.redis, customerId)).name);
  return createSessions<PortalSession, PortalSession>({
    access,
    lifetimeMs: portalSessionMs,
    find: (code) => read((session) => findPortalCode(session, code)),
    idOf: ({ customerId }) => customerId,
    describeConflict: async (signedIn, subject) =>
      `You are signed in for ${await nameOf(signedIn)}, and the link is for ${await nameOf(subject)}.`,
    begin: (code, replaced) => read((session) => beginPortalSession(session, code, replaced)),
    end: (_req, signedIn) => read((session) => endPortalSession(session, signedIn)),
    view: ({ customerId, expiresAt }) => ({ customerId, expiresAt, scopes }),
    refuse: access.refuse,
  });
}

/** What is for operators in an error is not for customers. */
function reword(error: ApiError): ApiError {
  const { code, message, cause } = error;
  // Whoever was removed has no session any more.
  if (cause instanceof UnknownCustomer)
    return new ApiError('no_session', { message: customerMessages.no_session });
  if (cause instanceof StaleKey) return new ApiError('conflict', { message });
  if (cause instanceof OvertakenChange) return new ApiError(code);
  if (cause instanceof IssueForOperators) return new ApiError(code, { message: invalidSettings });
  switch (code) {
    case 'service_unavailable':
      return new ApiError(code, { message: unavailable, headers: { 'Retry-After': '5' } });
    case 'internal_error':
      return new ApiError(code, { message: 'Something went wrong on our side. Try again in a moment.' });
    case 'payload_too_large':
      return new ApiError(code, { message: 'The request body is too large.' });
    default:
      return error;
  }
}

const invalidSettings =
  'This is not possible until your provider has corrected the settings of your account.';

const unavailable =
  'Your keys and your usage cannot be read or changed at the moment. Try again in a minute. Requests with your keys are served as before.';
