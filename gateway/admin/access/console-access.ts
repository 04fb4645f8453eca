import { Router, type Request, type RequestHandler } from 'express';
import type { Logger } from 'pino';
import { addressGroup } from '../../http/address-group.ts';
import { findClientAddress } from '../../http/client-address.ts';
import { createIsProxy } from '../../http/trusted-proxies.ts';
import type { ApiDependencies } from '../api/api-dependencies.ts';
import { requireCsrfToken } from './require-csrf-token.ts';
import { requireJsonBody } from './require-json-body.ts';
import { requireOperator } from './require-operator.ts';
import { requireOrigin } from './require-origin.ts';
import { createSessionFinder, requireSession } from './require-session.ts';
import { createSessionCookie, type SessionCookie } from './session-cookie.ts';
import { createRefusalTrace } from './trace-refusals.ts';
import { createSessionVerifier } from './verify-session.ts';
import { createWrongCodeLimit, type WrongCodeLimit } from './wrong-code-limit.ts';

/** Decides who may use the API of the console. */
export interface ConsoleAccess {
  cookie: SessionCookie;
  chargeWrongCode: WrongCodeLimit;
  /** The valid sessions of a browser: one, if nobody has tampered with its cookies. */
  findSessions: ReturnType<typeof createSessionFinder>;
  /** To be called when a person has signed out. */
  forget(token: string): void;
  /** Address of a client, or its network if it is IPv6. */
  clientAddress(req: Request): string;
  /** Leaves a trace of a refusal that is about access; does nothing for any other. */
  traceRefusal: ReturnType<typeof createRefusalTrace>;
  /** Checks of a request that needs no session. */
  open: readonly RequestHandler[];
  /** Checks of every other request, in their order. */
  guard: Router;
  /** The part of the checks that also a viewer passes, to sign out. */
  signedIn: readonly RequestHandler[];
  close(): void;
}

interface ConsoleAccessDependencies extends Pick<ApiDependencies, 'read'> {
  /** The setting ADMIN_URL. */
  adminUrl: string | undefined;
  /** The setting TRUST_PROXY. */
  trustProxy: readonly string[];
  log: Logger;
  /** Counts a refusal in the metrics, by the code of its error. */
  countRefusal: (code: string) => void;
  /** Unix milliseconds. */
  now: () => number;
}

export function createConsoleAccess(dependencies: ConsoleAccessDependencies): ConsoleAccess {
  const { read, adminUrl, trustProxy, log, countRefusal: count, now } = dependencies;
  const cookie = createSessionCookie(adminUrl);
  const verifier = createSessionVerifier({ read, now });
  const isProxy = createIsProxy(trustProxy);
  const clientAddress = (req: Request) => addressGroup(findClientAddress(req, isProxy));
  const open = [requireOrigin(adminUrl), requireJsonBody()];
  const findSessions = createSessionFinder({ cookie, verifier });
  const signedIn = [...open, requireSession({ findSessions, verifier }), requireCsrfToken()];
  const guard = Router().use(...signedIn, requireOperator());
  return {
    cookie,
    chargeWrongCode: createWrongCodeLimit(),
    findSessions,
    forget: verifier.forget,
    clientAddress,
    traceRefusal: createRefusalTrace({ cookie, clientAddress, log, count }),
    open,
    guard,
    signedIn,
    close: () => verifier.close(),
  };
}
