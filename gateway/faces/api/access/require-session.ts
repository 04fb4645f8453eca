import type { Request, RequestHandler } from 'express';
import { ApiError } from '../api-error.ts';
import { setCaller, type RequestSession } from './caller.ts';
import { isReading } from './is-reading.ts';
import type { SessionCookie } from './session-cookie.ts';
import type { SessionVerifier } from './verify-session.ts';

interface SessionDependencies {
  cookie: SessionCookie;
  verifier: SessionVerifier;
}

/** Finds the valid sessions of a browser. A cookie that is no session's, no matter who has set it, hides no other. */
export function createSessionFinder({ cookie, verifier }: SessionDependencies) {
  return async function findSessions(req: Request): Promise<RequestSession[]> {
    const use = isReading(req) ? 'read' : 'change';
    const outcomes = await Promise.allSettled(
      cookie.read(req).map(async (token) => ({ token, session: await verifier.verify(token, use) })),
    );
    const found = outcomes
      .filter((outcome) => outcome.status === 'fulfilled')
      .flatMap(({ value: { token, session } }) => (session === undefined ? [] : { token, session }));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (found.length === 0 && failed !== undefined) throw failed.reason;
    return found;
  };
}

interface RequireSessionDependencies {
  findSessions: ReturnType<typeof createSessionFinder>;
}

/**
 * Refuses a request without a valid session, or with several: another page must not choose whose session this is. Later
 * steps get it from callerOf.
 */
export function requireSession({ findSessions }: RequireSessionDependencies): RequestHandler {
  return async function requireSession(req, _res, next) {
    const [found, ...others] = await findSessions(req);
    if (found === undefined || others.length > 0) throw new ApiError('no_session');
    const { session, token: secret } = found;
    setCaller(req, { id: session.id, who: session.name, secret, session });
    next();
  };
}
