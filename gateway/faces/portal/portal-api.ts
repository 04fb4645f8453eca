import express, { Router, type Request } from 'express';
import type { Logger } from 'pino';
import {
  beginPortalSession,
  endPortalSession,
  findCodeCustomer,
  portalPerson,
  portalSessionMs,
  type PortalSession,
} from '../../control/access/portal-sessions.ts';
import { showCustomer, UnknownCustomer } from '../../control/customers/stored-customers.ts';
import { IssueForOperators, StaleKey } from '../../control/invalid-operation.ts';
import { OvertakenChange } from '../../control/overtaken-change.ts';
import { csrfTokenFor, type SignedIn } from '../api/access/page-access.ts';
import { ApiError } from '../api/api-error.ts';
import type { ConsoleRedis } from '../api/console-redis.ts';
import { renderApiError } from '../api/render-api-error.ts';
import type { Route } from '../api/route.ts';
import { customerMessages, type PortalAccess } from './portal-access.ts';
import { portalApiPath } from './portal-document.ts';
import { portalRoutes, type PortalApi } from './portal-routes.ts';
import {
  portalSessionRoutes,
  type PortalSessionApi,
  type PortalSessionView,
} from './portal-session-routes.ts';

interface PortalApiDependencies {
  redis: () => Promise<Pick<ConsoleRedis, 'read' | 'change'>>;
  access: PortalAccess;
  scopes: readonly string[];
  document: () => object;
  log: Logger;
}

const maxBody = '16kb';

/** The portal's API: what a customer sees and does, as JSON. */
export function createPortalApi(dependencies: PortalApiDependencies): Router {
  const { access, document, log } = dependencies;
  const { open, guard, guardOfEnd } = access;
  const guardOf = ({ operation }: Pick<Route, 'operation'>) =>
    ['endSession', 'revokeKey'].includes(operation.operationId) ? guardOfEnd : guard;
  const sessionApi = createSessionApi(dependencies);
  const api = createApi(dependencies);
  const router = Router();
  router.get(`${portalApiPath}/openapi.json`, (_req, res) => {
    res.json(document());
  });
  for (const route of portalSessionRoutes) {
    const checks = route.operation.access === 'open' ? open : guardOf(route);
    router[route.method](
      `${portalApiPath}${route.path}`,
      ...checks,
      express.json({ limit: '1kb' }),
      (req, res) => route.serve(sessionApi, req, res),
    );
  }
  for (const route of portalRoutes) {
    router[route.method](
      `${portalApiPath}${route.path}`,
      ...guardOf(route),
      express.json({ limit: maxBody }),
      (req, res) => route.serve(api, req, res),
    );
  }
  router.use(
    portalApiPath,
    renderApiError({
      logUnexpected: (error) => log.error({ err: error }, 'unexpected error in the portal'),
      reword,
    }),
  );
  return router;
}

/** A customer who was removed has no session any more. */
function asNoSession(error: unknown): never {
  throw error instanceof UnknownCustomer
    ? new ApiError('no_session', { message: customerMessages.no_session })
    : error;
}

function createApi({ redis, access, log }: PortalApiDependencies): PortalApi {
  const customerOf = (req: Request) => access.sessionOf(req).session.customerId;
  return {
    async run(req, { run }, input) {
      const { read } = await redis();
      return read((session) => run(customerOf(req), session, input)).catch(asNoSession);
    },
    async change(req, { run }, input) {
      const customer = customerOf(req);
      const by = { who: portalPerson(customer), reason: undefined };
      const connection = await redis();
      const { result, warnings, isConfirmed } = await connection
        .change(by, (session) => run(customer, session, input))
        .catch(asNoSession);
      // They are about Redis, which is its operator's.
      for (const warning of warnings) log.warn({ customer }, `a change in the portal: ${warning}`);
      return { ...result, warnings: isConfirmed ? [] : [mayBeLost] };
    },
  };
}

const mayBeLost = 'The change was made, but it is not certain that it is kept. Look again in a few minutes.';

function createSessionApi({ redis, access, scopes }: PortalApiDependencies): PortalSessionApi {
  const view = (signedIn: SignedIn<PortalSession>): PortalSessionView => ({
    customerId: signedIn.session.customerId,
    expiresAt: signedIn.session.expiresAt,
    csrfToken: csrfTokenFor(signedIn.token),
    scopes: [...scopes],
  });
  const end = async (token: string) => (await redis()).read((session) => endPortalSession(session, token));
  return {
    async begin(req, res, { code, replace }) {
      const { read } = await redis();
      const customer = await read((session) => findCodeCustomer(session, code));
      if (customer === undefined) return access.refuse(req, 'invalid_code');
      const current = await access.findSessions(req);
      const other = current.find(({ session }) => session.customerId !== customer);
      if (other !== undefined && !replace) {
        const [from, to] = await read((session) =>
          Promise.all([other.session.customerId, customer].map((id) => showCustomer(session.redis, id))),
        );
        const message = `You are signed in for ${from?.name}, and the link is for ${to?.name}.`;
        throw new ApiError('conflict', { message });
      }
      const begun = await read((session) => beginPortalSession(session, code));
      if (begun === undefined) return access.refuse(req, 'invalid_code');
      for (const { token } of current) await end(token);
      access.cookie.write(req, res, begun.token, portalSessionMs);
      return view(begun);
    },
    show: (req) => view(access.sessionOf(req)),
    async end(req, res) {
      await end(access.sessionOf(req).token);
      access.cookie.clear(req, res);
    },
  };
}

/** What is for operators in an error is not for customers. */
function reword(error: ApiError): ApiError {
  switch (error.code) {
    case 'service_unavailable':
      return new ApiError(error.code, { message: unavailable, headers: { 'Retry-After': '5' } });
    case 'internal_error':
      return new ApiError(error.code, {
        message: 'Something went wrong on our side. Try again in a moment.',
      });
    case 'invalid_operation':
      if (error.cause instanceof StaleKey) return new ApiError('conflict', { message: error.message });
      return new ApiError(error.code, {
        message: error.cause instanceof IssueForOperators ? invalidSettings : error.message,
      });
    case 'conflict':
      return error.cause instanceof OvertakenChange ? new ApiError(error.code) : error;
    case 'payload_too_large':
      return new ApiError(error.code, { message: 'The request body is too large.' });
    default:
      return error;
  }
}

const invalidSettings =
  'This is not possible until your provider has corrected the settings of your account.';

const unavailable =
  'Your keys and your usage cannot be read or changed at the moment. Try again in a minute. Requests with your keys are served as before.';
