import { Router, type RequestHandler } from 'express';
import { permits, type ApiScope } from '../../../control/access/api-scopes.ts';
import { ApiError } from '../api-error.ts';
import { callerOf, isReading, type Caller } from './caller.ts';

/** Who may call a route of the API. */
export interface Permitted {
  method: 'get' | 'put' | 'post' | 'patch' | 'delete';
  /** As Express has it, below the path of the API. */
  path: string;
  /** Whether a viewer may call it. */
  isForViewers: boolean;
  /** What a token needs; undefined if it is closed to tokens. */
  scope: ApiScope | undefined;
}

/** Refuses what the caller may not do. Comes after requireSession or requireToken. */
export function requirePermission(routes: readonly Permitted[]): RequestHandler {
  const router = Router();
  for (const route of routes) {
    router[route.method](route.path, (req, _res, next) => {
      assertPermitted(callerOf(req), route);
      next('router');
    });
  }
  // A viewer gets the same for a path that does not exist.
  router.use((req, _res, next) => {
    const { session } = callerOf(req);
    if (session !== undefined) assertRole(session, isReading(req));
    next();
  });
  return router;
}

function assertPermitted(caller: Caller, { scope, isForViewers }: Permitted): void {
  if (caller.session !== undefined) return assertRole(caller.session, isForViewers);
  if (scope === undefined) throw new ApiError('session_required');
  assertScopes(caller, [scope]);
}

/** @throws ApiError insufficient_scope for a program that lacks one of the scopes */
export function assertScopes({ session, scopes = [] }: Caller, needed: readonly ApiScope[]): void {
  const missing = session === undefined ? needed.filter((scope) => !permits(scopes, scope)) : [];
  if (missing.length === 0) return;
  throw new ApiError('insufficient_scope', {
    message: `The token needs the scope ${missing.join(' and ')}. It has: ${scopes.join(', ')}.`,
    headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${missing.join(' ')}"` },
  });
}

function assertRole({ role }: NonNullable<Caller['session']>, isForViewers: boolean): void {
  if (role !== 'operator' && !isForViewers) throw new ApiError('operator_required');
}
