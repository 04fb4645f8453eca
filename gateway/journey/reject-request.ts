import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { GatewayError } from '../errors.ts';
import { findAmbiguity } from '../http/ambiguous-request.ts';
import { maxBodyBytes } from '../http/request-body.ts';

/**
 * Rejects what Node's parser accepts although it is no valid request. Comes after the quota, so that these responses have
 * the rate limit headers of the key.
 */
export function rejectMalformed(): RequestHandler {
  return function rejectMalformed(req, _res, next) {
    assertWellFormed(req);
    next();
  };
}

/** No honest client sends as many, not even through proxies. */
const maxHeaders = 200;

/** Characters of a host and port (RFC 3986 section 3.2). The upstream gets them as X-Forwarded-Host. */
const wellFormedHost = /^[A-Za-z0-9._~!$&'()*+,;=%:[\]-]*$/;

/** For steps that respond before the quota. @throws GatewayError bad_request or headers_too_large */
export function assertWellFormed(req: IncomingMessage): void {
  const { httpVersion, headers, rawHeaders } = req;
  const ambiguity = findAmbiguity(req);
  if (ambiguity !== undefined) throw ambiguity;
  if (rawHeaders.length / 2 > maxHeaders) throw new GatewayError('headers_too_large');
  const hosts = countHeader(rawHeaders, 'host');
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1') || !wellFormedHost.test(headers.host ?? '')) {
    // RFC 9112 section 3.2: exactly one valid Host, or 400.
    throw new GatewayError('bad_request', { message: 'The request needs exactly one valid Host header.' });
  }
  // HTTP/1.0 has no Expect.
  if (httpVersion !== '1.1') return;
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    throw new GatewayError('bad_request', {
      status: 417,
      message: 'The only supported Expect is 100-continue.',
    });
  }
}

/** Rejects paths (404) and methods (405) that the OpenAPI document does not have. */
export function rejectUnknownRoute(): RequestHandler {
  return function rejectUnknownRoute(req, res, next) {
    const { route } = res.locals;
    if (route === undefined) throw new GatewayError('not_found');
    if (!route.allow.includes(req.method)) {
      throw new GatewayError('method_not_allowed', { headers: { Allow: route.allow.join(', ') } });
    }
    next();
  };
}

/** Rejects a body by its Content-Length, before any of it is read. */
export function rejectLargeBody(): RequestHandler {
  return function rejectLargeBody(req, _res, next) {
    assertSmallBody(req);
    next();
  };
}

/** @throws GatewayError payload_too_large */
export function assertSmallBody({ headers }: IncomingMessage): void {
  if (Number(headers['content-length'] ?? 0) > maxBodyBytes) throw new GatewayError('payload_too_large');
}

function countHeader(rawHeaders: readonly string[], wanted: string): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() === wanted) count += 1;
  }
  return count;
}
