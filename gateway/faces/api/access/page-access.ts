import { createHmac, timingSafeEqual } from 'node:crypto';
import type { CookieOptions, Request, RequestHandler, Response } from 'express';
import type { SignedIn } from '../../../control/access/expiring-secrets.ts';
import { ApiError } from '../api-error.ts';
import { isReading, setCaller, type Caller } from './caller.ts';

/** Checks of requests that the pages of the console or the portal send, with a session in a cookie. */
export type PageAccess<Session> = ReturnType<typeof createPageAccess<Session>>;

interface PageAccessOptions<Session> {
  /** Whose pages these are; begins the name of the cookie. */
  owner: string;
  /** Path of the cookie without TLS. */
  cookiePath: string;
  /** Path of the API. */
  apiPath: string;
  /** Origins of the own pages. Browsers reach them at the first. */
  originsOf: (req: Request) => readonly (string | undefined)[];
  /** For an operator whose own page is refused. */
  advice: string;
  find: (token: string) => Promise<Session | undefined>;
  callerOf: (signedIn: SignedIn<Session>) => Caller;
  /** Refuses a request without a session. */
  refuse: (req: Request) => Promise<never>;
}

export function createPageAccess<Session>(options: PageAccessOptions<Session>) {
  const { apiPath, find, callerOf, refuse } = options;
  const cookie = createSessionCookie(options);
  const sessions = new WeakMap<Request, SignedIn<Session>>();

  /**
   * The valid sessions of a browser: one, if nobody has tampered with its cookies. A cookie that is no session's, no matter who
   * has set it, hides no other.
   */
  async function findSessions(req: Request): Promise<SignedIn<Session>[]> {
    const outcomes = await Promise.allSettled(
      cookie.read(req).map(async (token) => ({ token, session: await find(token) })),
    );
    const found = outcomes
      .filter((outcome) => outcome.status === 'fulfilled')
      .flatMap(({ value: { token, session } }) => (session === undefined ? [] : { token, session }));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (found.length === 0 && failed !== undefined) throw failed.reason;
    return found;
  }

  /** @throws Error for a request that requireSession has not accepted */
  function sessionOf(req: Request): SignedIn<Session> {
    const found = sessions.get(req);
    if (found === undefined) throw new Error(`${req.path} is served without requireSession`);
    return found;
  }

  /**
   * Refuses a request without a valid session, or with several: another page must not choose whose session this is. Later steps
   * get it from sessionOf and callerOf.
   */
  const requireSession: RequestHandler = async (req, _res, next) => {
    const [found, ...others] = await findSessions(req);
    if (found === undefined || others.length > 0) return refuse(req);
    sessions.set(req, found);
    setCaller(req, callerOf(found));
    next();
  };

  /** Refuses a change without the token of `GET /session`. */
  const requireCsrfToken: RequestHandler = (req, _res, next) => {
    if (isReading(req) || isCsrfToken(req.get('X-CSRF-Token') ?? '', sessionOf(req).token)) return next();
    throw new ApiError('invalid_csrf_token', {
      message: `A change needs the header X-CSRF-Token with the csrfToken that GET ${apiPath}/session returns.`,
    });
  };

  /** Checks of a request that needs no session. */
  const open: readonly RequestHandler[] = [requireOwnOrigin(options), requireJsonBody];
  return { cookie, open, findSessions, sessionOf, requireSession, requireCsrfToken };
}

/** Each one is looked up. A browser sends one cookie for each path and domain: a handful. */
const maxTokens = 20;

/**
 * A cookie that no script can read, and that is not sent with what another site begins. With TLS, only one counts that no other
 * host can set: browsers accept the prefix __Host- only with Secure, Path=/ and without a Domain. Without TLS, its name ends with
 * the port: cookies are shared by all ports of a host, and several gateways may run on one.
 */
function createSessionCookie({
  owner,
  cookiePath,
  originsOf,
}: Pick<PageAccessOptions<unknown>, 'owner' | 'cookiePath' | 'originsOf'>) {
  function settingsOf(req: Request): { name: string; options: CookieOptions } {
    const origin = URL.parse(originsOf(req).find((text) => text !== undefined) ?? '');
    const secure = origin?.protocol === 'https:';
    return {
      name: secure ? `__Host-${owner}-session` : `${owner}-session-${origin?.port || '80'}`,
      options: { httpOnly: true, sameSite: 'strict', path: secure ? '/' : cookiePath, secure },
    };
  }
  return {
    /**
     * Reads what may be tokens of sessions: a page on another port of this host, or on another host of its domain, can add
     * cookies of the same name.
     */
    read: (req: Request) => valuesOf(req.headers.cookie ?? '', settingsOf(req).name).slice(0, maxTokens),
    write(req: Request, res: Response, token: string, maxAge: number) {
      const { name, options } = settingsOf(req);
      res.cookie(name, token, { ...options, maxAge });
    },
    clear(req: Request, res: Response) {
      const { name, options } = settingsOf(req);
      res.clearCookie(name, options);
    },
  };
}

const tokenPattern = /^[\w-]{43}$/;

/** Different values that may be tokens. Not `cookie.parse`, which hides that a name was sent several times. */
function valuesOf(header: string, name: string): string[] {
  const values = header
    .split(';')
    .map((pair) => pair.trim())
    .flatMap((pair) => (pair.startsWith(`${name}=`) ? pair.slice(name.length + 1) : []));
  return [...new Set(values)].filter((value) => tokenPattern.test(value));
}

/** Values of Sec-Fetch-Site (Fetch Metadata) of own pages, and of an address that a person typed. */
const ownSites = new Set([undefined, 'same-origin', 'none']);

/**
 * Refuses a change that does not come from an own page, also one from another port of the same host, which counts as the same
 * site and so is sent with cookies (RFC 6454; OWASP, Cross-Site Request Forgery Prevention). A request that only reads is refused
 * if the browser says that another page sends it.
 */
function requireOwnOrigin({
  originsOf,
  owner,
  advice,
}: Pick<PageAccessOptions<unknown>, 'originsOf' | 'owner' | 'advice'>): RequestHandler {
  return function requireOwnOrigin(req, _res, next) {
    const { origin, 'sec-fetch-site': site } = req.headers;
    if (!ownSites.has(site?.toString())) {
      throw new ApiError('forbidden_origin', {
        message: `Requests that a page of another site sends are refused. Use the page of the ${owner}.`,
      });
    }
    if (isReading(req) && origin === undefined) return next();
    const accepted = originsOf(req).filter((text) => text !== undefined);
    if (origin !== undefined && accepted.includes(origin)) return next();
    const own = accepted.join(' or ');
    throw new ApiError('forbidden_origin', {
      message:
        origin === undefined
          ? `A change needs the header Origin, with the ${owner}'s own address: ${own}.`
          : `Changes from another Origin than the ${owner}'s own, ${own}, are refused. ${advice}`,
    });
  };
}

/**
 * Refuses a body that is not JSON. A form of another site can send only other types without asking first (Fetch, section
 * "CORS-safelisted request-header").
 */
export const requireJsonBody: RequestHandler = (req, _res, next) => {
  // Null without a body, false for another type. Clients send a length of 0 without a type.
  if (req.is('application/json') !== false || req.headers['content-length'] === '0') return next();
  throw new ApiError('bad_request', { message: 'A body must have the Content-Type application/json.' });
};

/**
 * Token that a page sends in X-CSRF-Token with each change. It is derived from the session's secret, which no script can
 * read, and only a page of the same origin can ask for it.
 */
export function csrfTokenFor(sessionToken: string): string {
  return createHmac('sha256', sessionToken).update('csrf').digest('base64url');
}

/** Compares in constant time. */
export function isCsrfToken(given: string, sessionToken: string): boolean {
  const [actual, expected] = [Buffer.from(given), Buffer.from(csrfTokenFor(sessionToken))];
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}
