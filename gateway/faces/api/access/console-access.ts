import { Router, type Request, type RequestHandler } from 'express';
import type { Logger } from 'pino';
import { addressGroup, createIsProxy, findClientAddress } from '../../../platform/http/client-address.ts';
import type { ApiDependencies } from '../api-dependencies.ts';
import { ApiError } from '../api-error.ts';
import { createMinuteLimit } from './minute-limit.ts';
import { createRefuseSecret, type RefuseSecret } from './refuse-secret.ts';
import { requireCsrfToken } from './require-csrf-token.ts';
import { requireJsonBody } from './require-json-body.ts';
import { requireOrigin } from './require-origin.ts';
import { requirePermission, type Permitted } from './require-permission.ts';
import { createSessionFinder, requireSession } from './require-session.ts';
import { hasToken, requireToken } from './require-token.ts';
import { createSessionCookie, type SessionCookie } from './session-cookie.ts';
import { createRefusalTrace } from './trace-refusals.ts';
import { createSessionVerifier } from './verify-session.ts';

/** Decides who may use the API of the console. */
export interface ConsoleAccess {
  cookie: SessionCookie;
  refuseSecret: RefuseSecret;
  /** The valid sessions of a browser: one, if nobody has tampered with its cookies. */
  findSessions: ReturnType<typeof createSessionFinder>;
  /** To be called when a person has signed out. */
  forget(token: string): void;
  /** Leaves a trace of a refusal that is about access; does nothing for any other. */
  traceRefusal: ReturnType<typeof createRefusalTrace>;
  /** Checks of a request that needs no session. */
  open: readonly RequestHandler[];
  /** Checks of every other request. */
  guard(routes: readonly Permitted[]): RequestHandler;
  close(): void;
}

export interface ConsoleAccessDependencies extends Pick<ApiDependencies, 'read'> {
  /** The setting ADMIN_URL. */
  adminUrl: string | undefined;
  /** The setting TRUST_PROXY. */
  trustProxy: readonly string[];
  log: Logger;
  /** Unix milliseconds. */
  now: () => number;
}

/**
 * A right code or token works however many wrong ones came before it, also from the same address: nobody guesses 128 bits, and
 * people behind one proxy share an address.
 */
const maxWrongSecrets = 10;

export function createConsoleAccess(dependencies: ConsoleAccessDependencies): ConsoleAccess {
  const { read, adminUrl, trustProxy, log, now } = dependencies;
  const cookie = createSessionCookie(adminUrl);
  const verifier = createSessionVerifier({ read, now });
  const isProxy = createIsProxy(trustProxy);
  const clientAddress = (req: Request) => addressGroup(findClientAddress(req, isProxy));
  const refuseSecret = createRefuseSecret({
    chargeWrongSecret: createMinuteLimit(maxWrongSecrets),
    clientAddress,
  });
  const fromPage = [requireOrigin(adminUrl), requireJsonBody()];
  const findSessions = createSessionFinder({ cookie, verifier });
  const person = Router().use(...fromPage, requireSession({ findSessions }), requireCsrfToken());
  const program = Router().use(requireJsonBody(), requireToken({ read, refuseSecret }));
  return {
    cookie,
    refuseSecret,
    findSessions,
    forget: verifier.forget,
    traceRefusal: createRefusalTrace({ cookie, clientAddress, log }),
    open: fromPage,
    guard: (routes) =>
      // A cookie, which a browser sends by itself, counts for nothing beside a token, and so needs no Origin.
      Router().use((req, res, next) => {
        if (hasToken(req)) return program(req, res, next);
        // A program that forgot its token has no use for advice about pages.
        if (req.headers.origin === undefined && cookie.read(req).length === 0)
          throw new ApiError('no_session');
        return person(req, res, next);
      }, requirePermission(routes)),
    close: () => verifier.close(),
  };
}
