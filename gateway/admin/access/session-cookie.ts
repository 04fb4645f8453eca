import type { CookieOptions, Request, Response } from 'express';
import { directOrigin, isFromAdminUrl } from './request-origin.ts';

export interface SessionCookie {
  /**
   * Reads the session's token.
   * @returns undefined without a cookie, or with several: a page on another port of this host can add a cookie, but must not
   * choose whose session this is
   */
  read(req: Request): string | undefined;
  write(req: Request, res: Response, token: string, maxAgeMs: number): void;
  clear(req: Request, res: Response): void;
}

const tokenPattern = /^[\w-]{43}$/;

/** Browsers accept this prefix only with Secure, Path=/ and without a Domain, so that no other host can set it. */
const secureName = '__Host-console-session';

/** Cookies are shared by all ports of a host, and several gateways may run on one. */
function directName(req: Request): string {
  const origin = directOrigin(req);
  const port = origin === undefined ? '' : new URL(origin).port;
  return `console-session-${port === '' ? '80' : port}`;
}

/** @param adminUrl the setting ADMIN_URL. If it is https, a cookie that is set there is Secure. */
export function createSessionCookie(adminUrl: string | undefined): SessionCookie {
  const isSecure = (req: Request) => isFromAdminUrl(req, adminUrl) && adminUrl?.startsWith('https:') === true;

  function cookieFor(req: Request): { name: string; options: CookieOptions } {
    const secure = isSecure(req);
    const options: CookieOptions = { httpOnly: true, sameSite: 'strict', path: '/', secure };
    return { name: secure ? secureName : directName(req), options };
  }

  return {
    read(req) {
      const { cookie = '' } = req.headers;
      const [token, ...others] = valuesOf(cookie, [secureName, directName(req)]);
      return others.length === 0 ? token : undefined;
    },
    write(req, res, token, maxAgeMs) {
      const { name, options } = cookieFor(req);
      res.cookie(name, token, { ...options, maxAge: maxAgeMs });
    },
    clear(req, res) {
      const { name, options } = cookieFor(req);
      res.clearCookie(name, options);
    },
  };
}

/** Different values that may be tokens. Not `cookie.parse`, which hides that a name was sent several times. */
function valuesOf(header: string, names: readonly string[]): string[] {
  const values = header
    .split(';')
    .map((pair) => pair.trim())
    .flatMap((pair) =>
      names.flatMap((name) => (pair.startsWith(`${name}=`) ? pair.slice(name.length + 1) : [])),
    );
  return [...new Set(values)].filter((value) => tokenPattern.test(value));
}
