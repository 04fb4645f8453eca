import type { RequestHandler } from 'express';
import { ApiError } from '../api/api-error.ts';
import { setRequestSession } from './console-session.ts';
import { isReading } from './is-reading.ts';
import type { SessionCookie } from './session-cookie.ts';
import type { SessionVerifier } from './verify-session.ts';

interface RequireSessionDependencies {
  cookie: SessionCookie;
  verifier: SessionVerifier;
}

/** Refuses a request without a valid session. Later steps get it from sessionOf. */
export function requireSession({ cookie, verifier }: RequireSessionDependencies): RequestHandler {
  return async function requireSession(req, res, next) {
    const token = cookie.read(req);
    if (token === undefined) throw new ApiError('no_session');
    const session = await verifier.verify(token, isReading(req) ? 'read' : 'change');
    if (session === undefined) throw new ApiError('no_session');
    setRequestSession(req, { session, token });
    verifier.watch(token, res);
    next();
  };
}
