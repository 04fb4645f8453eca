import type { Request } from 'express';
import { hashSecret } from '../../../control/access/console-secret.ts';
import type { ConsoleSession } from '../../../control/access/console-sessions.ts';

/** Who sends a request: a person, or a program. */
export interface Caller {
  /** Of the session, or of the token. */
  id: string;
  /** Name in the audit log. */
  who: string;
  /** Value of the cookie, or the token. */
  secret: string;
  /** Session of a person. */
  session?: ConsoleSession;
  /** Scopes of a program. */
  scopes?: readonly string[];
}

/** The session of a request, with the secret that its cookie holds. */
export interface RequestSession {
  session: ConsoleSession;
  token: string;
}

/** Hash of the API token of a program; undefined for a person. */
export const apiTokenHashOf = ({ session, secret }: Caller) =>
  session === undefined ? hashSecret(secret) : undefined;

const callers = new WeakMap<Request, Caller>();

/** @throws Error if no step before, requireSession or requireToken, has found one */
export function callerOf(req: Request): Caller {
  const caller = callers.get(req);
  if (caller === undefined) throw new Error(`${req.path} is served without requireSession or requireToken`);
  return caller;
}

/**
 * The person who sent a request.
 * @throws Error as callerOf does, and for a program
 */
export function sessionOf(req: Request): ConsoleSession {
  return requestSession(req).session;
}

/** @throws Error as sessionOf does */
export function requestSession(req: Request): RequestSession {
  const { session, secret: token } = callerOf(req);
  if (session === undefined) throw new Error(`${req.path} is for sessions, and is not closed to tokens`);
  return { session, token };
}

export function setCaller(req: Request, caller: Caller): void {
  callers.set(req, caller);
}
