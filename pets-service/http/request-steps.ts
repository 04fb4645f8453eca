import { randomUUID } from 'node:crypto';
import { findAmbiguity, hasValidHost } from '#runtime/malformed-request.ts';
import type { RequestHandler } from 'express';
import { PetsError } from '../errors.ts';

/** Headers of every response: it must not be stored, and has the type that it says. The gateway sets its own. */
export const securityHeaders = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };

/** The form of the gateway's request ids. Anything else could be an attempt to write into the log. */
const wellFormedId = /^[A-Za-z0-9._-]{1,128}$/;

/** Keeps the X-Request-Id of a caller if it is well-formed and makes one otherwise, and sets the security headers. */
export function beginResponse(): RequestHandler {
  return function beginResponse(req, res, next) {
    const offered = req.headers['x-request-id'];
    res.locals.requestId = typeof offered === 'string' && wellFormedId.test(offered) ? offered : randomUUID();
    res.set({ 'X-Request-Id': res.locals.requestId, ...securityHeaders });
    next();
  };
}

/** More than the gateway accepts and adds. */
const maxHeaders = 220;

/**
 * Rejects what Node's parser accepts although another server may read it differently. The gateway refuses the same, but
 * internal services do not come through it.
 */
export function rejectMalformed(): RequestHandler {
  return function rejectMalformed(req, res, next) {
    const ambiguity = findAmbiguity(req);
    if (ambiguity !== undefined) {
      // No request after it is served: its beginning is uncertain.
      res.shouldKeepAlive = false;
      throw new PetsError('bad_request', { message: ambiguity });
    }
    if (req.rawHeaders.length / 2 > maxHeaders) throw new PetsError('headers_too_large');
    if (!hasValidHost(req)) throw new PetsError('bad_request');
    next();
  };
}
