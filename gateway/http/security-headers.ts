import type { RequestHandler } from 'express';

/**
 * On every answer, errors and those to what is no request included (OWASP REST Security Cheat Sheet). An answer is
 * for one caller alone and shows what that caller has left, so nobody may keep it; and it is JSON, whatever a browser
 * would like to make of it. The upstream's own copies are dropped (forwarded-headers.ts).
 */
export const securityHeaders = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
} as const;

/** A year, for this host alone: other services of the domain are not ours to decide on. */
const onlyHttps = 'max-age=31536000';

/** No CORS headers among them, on purpose: API keys do not belong in browsers. */
export function setSecurityHeaders(): RequestHandler {
  return function setSecurityHeaders(req, res, next) {
    const { headers } = res.locals;
    headers.setAll(securityHeaders);
    // Over plain HTTP it would mean nothing (RFC 6797 section 7.2). TLS ends at a proxy, which has to be a trusted one.
    if (req.secure) headers.set('Strict-Transport-Security', onlyHttps);
    next();
  };
}
