import type { CookieOptions, Request, Response } from 'express';

export interface SessionCookie {
  /**
   * Reads what may be tokens of sessions: a page on another port of this host, or on another host of its domain, can add
   * cookies of the same name.
   */
  read(req: Request): string[];
  write(req: Request, res: Response, token: string, maxAgeMs: number): void;
  clear(req: Request, res: Response): void;
}

interface CookieSettings {
  /** Begins its name. */
  owner: string;
  /** Its path without TLS. */
  plainPath: string;
  /** Origin at which browsers reach its pages. */
  originOf: (req: Request) => string | undefined;
}

/** Each one is looked up. A browser sends one cookie for each path and domain: a handful. */
const maxTokens = 20;

/**
 * A cookie that no script can read, and that is not sent with what another site begins. With TLS, only one counts that no other
 * host can set: browsers accept the prefix __Host- only with Secure, Path=/ and without a Domain. Without TLS, its name ends with
 * the port: cookies are shared by all ports of a host, and several gateways may run on one.
 */
export function createSessionCookie({ owner, plainPath, originOf }: CookieSettings): SessionCookie {
  function settingsOf(req: Request): { name: string; options: CookieOptions } {
    const origin = URL.parse(originOf(req) ?? '');
    const secure = origin?.protocol === 'https:';
    return {
      name: secure ? `__Host-${owner}-session` : `${owner}-session-${origin?.port || '80'}`,
      options: { httpOnly: true, sameSite: 'strict', path: secure ? '/' : plainPath, secure },
    };
  }
  return {
    read: (req) => valuesOf(req.headers.cookie ?? '', settingsOf(req).name).slice(0, maxTokens),
    write(req, res, token, maxAge) {
      const { name, options } = settingsOf(req);
      res.cookie(name, token, { ...options, maxAge });
    },
    clear(req, res) {
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
