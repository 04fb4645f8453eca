import type { Request } from 'express';
import type { ConsoleSession } from '../../operations/console-sessions.ts';

/** The session of a request, with the secret that its cookie holds. */
export interface RequestSession {
  session: ConsoleSession;
  token: string;
}

const sessions = new WeakMap<Request, RequestSession>();

/**
 * The person who sent a request.
 * @throws Error if no step before, requireSession, has found one
 */
export function sessionOf(req: Request): ConsoleSession {
  return requestSession(req).session;
}

/** @throws Error as sessionOf does */
export function requestSession(req: Request): RequestSession {
  const found = sessions.get(req);
  if (found === undefined) throw new Error(`${req.path} is served without requireSession`);
  return found;
}

export function setRequestSession(req: Request, session: RequestSession): void {
  sessions.set(req, session);
}
