import type { CookieOptions, Request, Response } from 'express';
import { directOrigin, isHttpsOnly } from './request-origin.ts';

export interface SessionCookie {
  /**
   * Reads what may be tokens of sessions: a page on another port of this host, or on another host of its domain, can add
   * cookies of the same name.
   */
  read(req: Request): string[];
  write(req: Request, res: Response, token: string, maxAgeMs: number): void;
  clear(req: Request, res: Response): void;
}

/** Each one is looked up. A browser sends one cookie for each path and domain: a handful. */
const maxTokens = 20;

/** Browsers accept this prefix only with Secure, Path=/ and without a Domain, so that no other host can set it. */
const secureName = '__Host-console-session';

/** Cookies are shared by all ports of a host, and several gateways may run on one. */
function directName(req: Request): string {
  const origin = directOrigin(req);
  const port = origin === undefined ? '' : new URL(origin).port;
  return `console-session-${port === '' ? '80' : port}`;
}

/**
 * The cookie of the console.
 * @param adminUrl the setting ADMIN_URL. If it is https, only a cookie that no other host can set counts.
 */
export function createSessionCookie(adminUrl: string | undefined): SessionCookie {
  const secure = isHttpsOnly(adminUrl);
  return createCookie({
    nameOf: (req) => (secure ? secureName : directName(req)),
    plainPath: '/',
    isSecure: () => secure,
  });
}

interface CookieSettings {
  nameOf: (req: Request) => string;
  /** Its path without TLS. With TLS it is /, as the prefix __Host- of its name needs. */
  plainPath: string;
  /** Whether browsers may send it with TLS only. */
  isSecure: (req: Request) => boolean;
}

/** A cookie that no script can read, and that is not sent with what another site begins. */
export function createCookie({ nameOf, plainPath, isSecure }: CookieSettings): SessionCookie {
  const optionsOf = (req: Request): CookieOptions => ({
    httpOnly: true,
    sameSite: 'strict',
    path: isSecure(req) ? '/' : plainPath,
    secure: isSecure(req),
  });
  return {
    read: (req) => valuesOf(req.headers.cookie ?? '', nameOf(req)).slice(0, maxTokens),
    write(req, res, token, maxAgeMs) {
      res.cookie(nameOf(req), token, { ...optionsOf(req), maxAge: maxAgeMs });
    },
    clear(req, res) {
      res.clearCookie(nameOf(req), optionsOf(req));
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
