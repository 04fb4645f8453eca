import { Router, type Request, type RequestHandler } from 'express';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { findApiToken } from '../../../control/access/api-tokens.ts';
import { createConsoleSessions, type ConsoleSession } from '../../../control/access/console-sessions.ts';
import { addressGroup, createIsProxy, findClientAddress } from '../../../platform/http/addresses.ts';
import { ApiError } from '../api-error.ts';
import type { RouteApi } from '../route.ts';
import { isReading, setCaller } from './caller.ts';
import { createMinuteLimit } from './minute-limit.ts';
import { createPageAccess, requireJsonBody } from './page-access.ts';

export type ConsoleAccess = ReturnType<typeof createConsoleAccess>;

export interface ConsoleAccessDependencies extends Pick<RouteApi, 'read'> {
  /** The setting ADMIN_URL. */
  adminUrl: string | undefined;
  /** The setting TRUST_PROXY. */
  trustProxy: readonly string[];
  log: Logger;
}

/**
 * A right code or token works however many wrong ones came before it, also from the same address: nobody guesses 128 bits, and
 * people behind one proxy share an address.
 */
const maxWrongSecrets = 10;

/** Decides who may use the API of the console. */
export function createConsoleAccess(dependencies: ConsoleAccessDependencies) {
  const { read, adminUrl, trustProxy, log } = dependencies;
  const isProxy = createIsProxy(trustProxy);
  const clientAddress = (req: Request) => addressGroup(findClientAddress(req, isProxy));
  const chargeWrongSecret = createMinuteLimit(maxWrongSecrets, 'Too many wrong codes or tokens');
  const page = createPageAccess<ConsoleSession>({
    owner: 'console',
    cookiePath: '/',
    apiPath: '/api',
    // If ADMIN_URL is https, a page at any other address, also at the same host without TLS, is another one.
    originsOf: (req) => [adminUrl?.startsWith('https:') ? undefined : directOrigin(req), adminUrl],
    advice: 'Behind a proxy that ends TLS, set ADMIN_URL.',
    // In Redis at each request, so that one that was ended is over at once.
    find: (token) => read((session) => createConsoleSessions(session).find(token)),
    callerOf: ({ session, token }) => ({ who: session.name, secret: token, session }),
    refuse: () => Promise.reject(new ApiError('no_session')),
  });

  /** Refuses a request with a wrong code or token. @throws ApiError the given one, or too_many_requests */
  async function refuseSecret(req: Request, code: 'invalid_code' | 'invalid_token'): Promise<never> {
    await chargeWrongSecret(clientAddress(req));
    throw new ApiError(code, code === 'invalid_token' ? { headers: { 'WWW-Authenticate': 'Bearer' } } : {});
  }

  const person = Router().use(...page.open, page.requireSession, page.requireCsrfToken);
  const program = Router().use(requireJsonBody, requireToken({ read }, refuseSecret));
  const logged = new LRUCache<string, true>({ max: maxTraced, ttl: traceEveryMs });

  /** Leaves a trace of a refusal that is about access; does nothing for any other. */
  function traceRefusal(req: Request, { code, status }: ApiError): void {
    if (!accessStatuses.has(status)) return;
    // The page asks so whether somebody is signed in.
    if (req.path === '/session' && isReading(req) && page.cookie.read(req).length === 0) return;
    const address = clientAddress(req);
    const subject = `${code} ${address}`;
    if (logged.has(subject)) return;
    logged.set(subject, true);
    // Without the path, which may hold an API key.
    log.warn({ address, code }, 'the console has refused a request');
  }

  /** Checks of every request that needs a session or a token. */
  const guard: RequestHandler = (req, res, next) => {
    // A cookie, which a browser sends by itself, counts for nothing beside a token, and so needs no Origin.
    if (hasToken(req)) return program(req, res, next);
    // A program that forgot its token has no use for advice about pages.
    if (req.headers.origin === undefined && page.cookie.read(req).length === 0)
      throw new ApiError('no_session');
    return person(req, res, next);
  };

  return { ...page, refuseSecret, traceRefusal, guard };
}

/** Statuses of refusals that are about access: who asks, from where, and how often. */
const accessStatuses: ReadonlySet<number> = new Set([401, 403, 429]);
/** Each address and code leaves a trace once in this time. */
const traceEveryMs = 60_000;
const maxTraced = 1000;

/** Origin of the page itself if it is reached without a proxy; undefined without a valid Host. */
function directOrigin({ headers: { host } }: Pick<Request, 'headers'>): string | undefined {
  if (host === undefined || /[/?#@\\\s]/.test(host)) return undefined;
  return URL.parse(`http://${host}`)?.origin;
}

/** Requests a minute of a token, at each gateway: the process may serve clients as well. */
export const maxTokenRequests = 600;

/** RFC 6750 section 2.1. */
const bearer = /^Bearer +(\S+)$/i;

/** Whether a request has a token, valid or not. A proxy that asks for a password passes on another scheme. */
const hasToken = ({ headers }: Pick<Request, 'headers'>) => /^Bearer\b/i.test(headers.authorization ?? '');

/**
 * Refuses a request without a valid token, and one of a token that sends too many. The token is looked up in Redis at each
 * request, so that one that was revoked is over at once.
 */
function requireToken(
  { read }: Pick<RouteApi, 'read'>,
  refuseSecret: (req: Request, code: 'invalid_token') => Promise<never>,
): RequestHandler {
  const chargeRequest = createMinuteLimit(maxTokenRequests, 'The token has sent too many requests');
  return async function requireToken(req, _res, next) {
    const [, secret = ''] = bearer.exec(req.headers.authorization ?? '') ?? [];
    const token = await read((session) => findApiToken(session, secret));
    if (token === undefined) return refuseSecret(req, 'invalid_token');
    const { id, name, scopes } = token;
    await chargeRequest(id);
    // The id tells tokens of the same name apart, such as one and the next.
    setCaller(req, { who: name === null ? id : `${name} (${id})`, secret, scopes });
    next();
  };
}
