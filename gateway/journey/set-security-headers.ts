import type { RequestHandler } from 'express';
import { securityHeaders } from '../http/security-headers.ts';

/** A year, for this host only: other services of the domain decide for themselves. */
const httpsOnly = 'max-age=31536000';

export function setSecurityHeaders(): RequestHandler {
  return function setSecurityHeaders(req, res, next) {
    const { headers } = res.locals;
    headers.setAll(securityHeaders);
    // Has no meaning over plain HTTP (RFC 6797 section 7.2). A trusted proxy, which ends TLS, says whether it is HTTPS.
    if (req.secure) headers.set('Strict-Transport-Security', httpsOnly);
    next();
  };
}
