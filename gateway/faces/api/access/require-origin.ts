import type { Request, RequestHandler } from 'express';
import { ApiError } from '../api-error.ts';
import { isReading } from './is-reading.ts';
import { directOrigin, isHttpsOnly } from './request-origin.ts';

/** Values of Sec-Fetch-Site (Fetch Metadata) of own pages, and of an address that a person typed. */
const ownSites = new Set([undefined, 'same-origin', 'none']);

/**
 * Refuses a change that does not come from a page of the console, also one from another port of the same host, which
 * counts as the same site and so is sent with cookies (RFC 6454; OWASP, Cross-Site Request Forgery Prevention). A request
 * that only reads is refused if the browser says that another page sends it.
 * @param adminUrl the setting ADMIN_URL. If it is https, a page at any other address, also at the same host without TLS, is
 * another one.
 */
export function requireOrigin(adminUrl: string | undefined): RequestHandler {
  return requireOwnOrigin({
    ownOrigins: (req) => [isHttpsOnly(adminUrl) ? undefined : directOrigin(req), adminUrl],
    owner: 'console',
    advice: 'Behind a proxy that ends TLS, set ADMIN_URL.',
  });
}

interface OriginOptions {
  /** Origins of the own pages, as far as they are known. */
  ownOrigins: (req: Request) => readonly (string | undefined)[];
  /** Whose pages these are. */
  owner: string;
  /** For an operator whose own page is refused. */
  advice: string;
}

/** The same for any pages. */
export function requireOwnOrigin({ ownOrigins, owner, advice }: OriginOptions): RequestHandler {
  return function requireOrigin(req, _res, next) {
    const { origin, 'sec-fetch-site': site } = req.headers;
    if (!ownSites.has(site?.toString())) {
      throw new ApiError('forbidden_origin', {
        message: `Requests that a page of another site sends are refused. Use the page of the ${owner}.`,
      });
    }
    if (isReading(req) && origin === undefined) return next();
    const accepted = ownOrigins(req).filter((text) => text !== undefined);
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
