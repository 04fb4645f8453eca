import type { RequestHandler } from 'express';
import { ApiError } from '../api/api-error.ts';
import { isReading } from './is-reading.ts';
import { directOrigin, isHttpsOnly } from './request-origin.ts';

/** Values of Sec-Fetch-Site (Fetch Metadata) of the console's own pages, and of an address that a person typed. */
const ownSites = new Set([undefined, 'same-origin', 'none']);

/**
 * Refuses a change that does not come from a page of the console, also one from another port of the same host, which
 * counts as the same site and so is sent with cookies (RFC 6454; OWASP, Cross-Site Request Forgery Prevention). A request
 * that only reads is refused if the browser says that another page sends it.
 * @param adminUrl the setting ADMIN_URL. If it is https, a page at any other address, also at the same host without TLS, is
 * another one.
 */
export function requireOrigin(adminUrl: string | undefined): RequestHandler {
  return function requireOrigin(req, _res, next) {
    const { origin, 'sec-fetch-site': site } = req.headers;
    if (!ownSites.has(site?.toString())) throw new ApiError('forbidden_origin', { message: foreignSite });
    if (isReading(req) && origin === undefined) return next();
    const accepted = [isHttpsOnly(adminUrl) ? undefined : directOrigin(req), adminUrl].filter(
      (text) => text !== undefined,
    );
    if (origin !== undefined && accepted.includes(origin)) return next();
    const own = accepted.join(' or ');
    throw new ApiError('forbidden_origin', {
      message:
        origin === undefined
          ? `A change needs the header Origin, with the console's own address: ${own}.`
          : `Changes from another Origin than the console's own, ${own}, are refused. Behind a proxy that ends TLS, set ADMIN_URL.`,
    });
  };
}

const foreignSite = 'Requests that a page of another site sends are refused. Use the page of the console.';
