import type { IncomingMessage } from 'node:http';
import { hasInvalidTarget } from '#runtime/normalize-target.ts';
import type { RequestHandler } from 'express';
import { PetsError } from '../errors.ts';
import { countHeader } from './count-header.ts';

/** More than the gateway accepts and adds. */
const maxHeaders = 220;

/**
 * Rejects what Node's parser accepts although another server may read it differently. The gateway refuses the same, but
 * internal services do not come through it.
 */
export function rejectMalformed(): RequestHandler {
  return function rejectMalformed(req, res, next) {
    if (isAmbiguous(req)) {
      // No request after it is served: its beginning is uncertain.
      res.shouldKeepAlive = false;
      throw new PetsError('bad_request');
    }
    if (req.rawHeaders.length / 2 > maxHeaders) throw new PetsError('headers_too_large');
    if (!hasValidHost(req)) throw new PetsError('bad_request');
    next();
  };
}

/** Whether the end of the request or its target is uncertain (RFC 9112 sections 3.2, 6.1 and 11.2). */
function isAmbiguous(req: IncomingMessage): boolean {
  const { httpVersion } = req;
  const coding = req.headers['transfer-encoding'];
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return true;
  if (coding !== undefined && (httpVersion === '1.0' || coding.toLowerCase() !== 'chunked')) return true;
  return hasInvalidTarget(req);
}

/** Exactly one valid Host, which HTTP/1.0 may omit (RFC 9112 section 3.2). */
function hasValidHost(req: IncomingMessage): boolean {
  const hosts = countHeader('host', req);
  if (hosts === 0) return req.httpVersion === '1.0';
  return hosts === 1 && /^[A-Za-z0-9._~!$&'()*+,;=%:[\]-]*$/.test(req.headers.host ?? '');
}
