import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { PetsError } from '../errors.ts';
import { timesSent } from './count-header.ts';
import { hasBrokenTarget } from './normalize-target.ts';

/** More than the gateway accepts, and so more than it passes on with its own. */
const maxHeaders = 220;

/**
 * What Node's parser lets pass although another server might see something else in it. The gateway refuses the same;
 * internal callers come without it.
 */
export function rejectMalformed(): RequestHandler {
  return function rejectMalformed(req, res, next) {
    if (isAmbiguous(req)) {
      // Nothing after it is served: what it would be is uncertain.
      res.shouldKeepAlive = false;
      throw new PetsError('bad_request');
    }
    if (req.rawHeaders.length / 2 > maxHeaders) throw new PetsError('headers_too_large');
    if (!isHostInOrder(req)) throw new PetsError('bad_request');
    next();
  };
}

/** Not certain to end where we think, or to ask for what we think (RFC 9112 sections 3.2, 6.1 and 11.2). */
function isAmbiguous(req: IncomingMessage): boolean {
  const { httpVersion } = req;
  const coding = req.headers['transfer-encoding'];
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return true;
  if (coding !== undefined && (httpVersion === '1.0' || coding.toLowerCase() !== 'chunked')) return true;
  return hasBrokenTarget(req);
}

/** Exactly one valid Host, which HTTP/1.0 may leave out (RFC 9112 section 3.2). */
function isHostInOrder(req: IncomingMessage): boolean {
  const hosts = timesSent('host', req);
  if (hosts === 0) return req.httpVersion === '1.0';
  return hosts === 1 && /^[A-Za-z0-9._~!$&'()*+,;=%:[\]-]*$/.test(req.headers.host ?? '');
}
