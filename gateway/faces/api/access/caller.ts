import type { Request, RequestHandler } from 'express';
import { permits, type ApiScope } from '../../../control/access/api-scopes.ts';
import type { ConsoleSession } from '../../../control/access/console-sessions.ts';
import type { CustomerId } from '../../../platform/redis/redis-keys.ts';
import { ApiError } from '../api-error.ts';

/** Who sends a request: a person in the console, a program, or a customer in the portal. */
export interface Caller {
  /** Name in the audit log. */
  who: string;
  /** Value of the cookie, or the token. */
  secret: string;
  /** Session of a person in the console. */
  session?: ConsoleSession;
  /** Scopes of a program. */
  scopes?: readonly string[];
  /** Customer in the portal. */
  customer?: CustomerId;
}

const callers = new WeakMap<Request, Caller>();

/** @throws Error if no step before, requireSession or requireToken, has found one */
export function callerOf(req: Request): Caller {
  const caller = callers.get(req);
  if (caller === undefined) throw new Error(`${req.path} is served without requireSession or requireToken`);
  return caller;
}

export function setCaller(req: Request, caller: Caller): void {
  callers.set(req, caller);
}

/** Whether a request changes nothing (RFC 9110 section 9.2.1, safe methods). */
export const isReading = ({ method }: Pick<Request, 'method'>) => method === 'GET' || method === 'HEAD';

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
export function requirePermission({ scope, isForViewers }: Permitted): RequestHandler {
  return function requirePermission(req, _res, next) {
    const caller = callerOf(req);
    if (caller.session !== undefined) assertRole(caller, isForViewers);
    else if (scope === undefined) throw new ApiError('session_required');
    else assertScopes(caller, [scope]);
    next();
  };
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

/** @throws ApiError operator_required for a viewer who may not do it */
export function assertRole({ session }: Caller, isForViewers: boolean): void {
  if (session !== undefined && session.role !== 'operator' && !isForViewers)
    throw new ApiError('operator_required');
}
