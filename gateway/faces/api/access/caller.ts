import type { Request } from 'express';
import type { ConsoleSession } from '../../../control/access/console-sessions.ts';
import type { CustomerId } from '../../../platform/redis/redis-keys.ts';

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
export function isReading({ method }: Pick<Request, 'method'>): boolean {
  return method === 'GET' || method === 'HEAD';
}
