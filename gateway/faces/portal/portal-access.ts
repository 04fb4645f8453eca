import type { Request, RequestHandler } from 'express';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { findPortalSession, type PortalSession } from '../../control/access/portal-sessions.ts';
import type { PublicAddress } from '../../platform/http/public-address.ts';
import type { AddressLimit } from '../../quota/address-limit.ts';
import { csrfTokenFor, isCsrfToken } from '../api/access/csrf-token.ts';
import { isReading } from '../api/access/is-reading.ts';
import { tooManyRequests } from '../api/access/minute-limit.ts';
import { requireJsonBody } from '../api/access/require-json-body.ts';
import { requireOwnOrigin } from '../api/access/require-origin.ts';
import { createCookie, type SessionCookie } from '../api/access/session-cookie.ts';
import { ApiError } from '../api/api-error.ts';
import type { ConsoleRedis } from '../api/console-redis.ts';

/** The session of a request, with the secret that its cookie holds. */
export interface SignedIn {
  session: PortalSession;
  token: string;
}

/** Decides who may use the API of the portal. */
export interface PortalAccess {
  cookie: SessionCookie;
  /** Checks of a request that needs no session. */
  open: readonly RequestHandler[];
  /** Checks of every other request, in their order. */
  guard: readonly RequestHandler[];
  /** Those of one that takes access away, which no limit refuses. */
  guardOfEnd: readonly RequestHandler[];
  /** @throws Error if the guard has not run before */
  sessionOf(req: Request): SignedIn;
  /** The sessions of a browser. */
  findSessions(req: Request): Promise<SignedIn[]>;
  /** Counts a wrong code or session against the address. @throws ApiError with a code, or too_many_requests */
  refuse(req: Request, code: 'no_session' | 'invalid_code'): Promise<never>;
}

interface PortalAccessDependencies {
  redis: () => Promise<Pick<ConsoleRedis, 'read'>>;
  publicAddress: PublicAddress;
  addressLimit: Pick<AddressLimit, 'charge' | 'peek'>;
}

/** Requests of one customer a minute and process: more than the page of several people asks for. */
const maxRequests = 240;
/** Each change waits for Redis' disk. */
const maxChanges = 30;

/** What the errors of the API for operators say to a customer. */
export const customerMessages = {
  no_session: 'There is no session, or it has ended. Open the portal again from where you came.',
  invalid_code:
    'This link was used before, or is older than five minutes. Open the portal again from where you came.',
};

export function createPortalAccess(dependencies: PortalAccessDependencies): PortalAccess {
  const { redis, publicAddress, addressLimit } = dependencies;
  const originOf = (req: Request) => URL.parse(publicAddress.baseUrl(req))?.origin;
  const cookie = portalCookie(originOf);
  const sessions = new WeakMap<Request, SignedIn>();
  const requests = new RateLimiterMemory({ points: maxRequests, duration: 60 });
  const changes = new RateLimiterMemory({ points: maxChanges, duration: 60 });

  async function refuse(req: Request, code: keyof typeof customerMessages): Promise<never> {
    const { allowed, window } = await addressLimit.charge(req.ip ?? '');
    if (allowed) throw new ApiError(code, { message: customerMessages[code] });
    throw tooMany(window.resetMs);
  }

  async function findSessions(req: Request): Promise<SignedIn[]> {
    const { read } = await redis();
    const found = await Promise.all(
      cookie.read(req).map(async (token) => ({
        token,
        session: await read((session) => findPortalSession(session, token)),
      })),
    );
    return found.flatMap(({ token, session }) => (session ? { token, session } : []));
  }

  const requireSession: RequestHandler = async (req, _res, next) => {
    // A browser has one: of an address over its limit, several are not looked up.
    if (cookie.read(req).length > 1 && (await addressLimit.peek(req.ip ?? '')).remaining === 0)
      return refuse(req, 'no_session');
    const [first, ...others] = await findSessions(req);
    // With several, another page would choose whose session this is.
    if (first === undefined || others.length > 0) return refuse(req, 'no_session');
    sessions.set(req, first);
    next();
  };

  function sessionOf(req: Request): SignedIn {
    const found = sessions.get(req);
    if (found === undefined) throw new Error(`${req.path} is served without requireSession`);
    return found;
  }

  const limitRequests: RequestHandler = async (req, _res, next) => {
    const { customerId } = sessionOf(req).session;
    await consume(requests, customerId);
    if (!isReading(req)) await consume(changes, customerId);
    next();
  };

  const requireCsrfToken: RequestHandler = (req, _res, next) => {
    const given = req.get('X-CSRF-Token') ?? '';
    if (isReading(req) || isCsrfToken(given, sessionOf(req).token)) return next();
    throw new ApiError('invalid_csrf_token', {
      message:
        'A change needs the header X-CSRF-Token with the csrfToken that GET /portal/api/session returns.',
    });
  };

  const open = [
    requireOwnOrigin({
      ownOrigins: (req) => [originOf(req)],
      owner: 'portal',
      advice: 'Behind a proxy, PUBLIC_URL has to be set.',
    }),
    requireJsonBody(),
  ];
  return {
    cookie,
    open,
    guard: [...open, requireSession, limitRequests, requireCsrfToken],
    guardOfEnd: [...open, requireSession, requireCsrfToken],
    sessionOf,
    findSessions,
    refuse,
  };
}

/** Token that the page sends with each change. */
export const portalCsrfToken = ({ token }: SignedIn) => csrfTokenFor(token);

/**
 * With TLS, no other host of the domain can set a cookie of this name. Without it, the name ends with the port: cookies are shared
 * by all ports of a host.
 */
function portalCookie(originOf: (req: Request) => string | undefined): SessionCookie {
  const isSecure = (req: Request) => originOf(req)?.startsWith('https:') === true;
  return createCookie({
    nameOf: (req) =>
      isSecure(req)
        ? '__Host-portal-session'
        : `portal-session-${URL.parse(originOf(req) ?? '')?.port || '80'}`,
    plainPath: '/portal',
    isSecure,
  });
}

async function consume(limiter: RateLimiterMemory, subject: string): Promise<void> {
  try {
    await limiter.consume(subject);
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal;
    throw tooMany(refusal.msBeforeNext);
  }
}

const tooMany = (waitMs: number) =>
  tooManyRequests('Too many requests', Math.max(1, Math.ceil(waitMs / 1000)));
