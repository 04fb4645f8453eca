import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import type { ApiDescription } from '../api-description.ts';
import { GatewayError } from '../errors.ts';
import { ambiguityOf } from '../http/ambiguous-request.ts';
import { maxBodyBytes } from '../http/request-body.ts';

/**
 * What is valid to Node's parser and still no valid request. Comes after the quota, so that these answers carry
 * the rate headers like all others.
 */
export function rejectMalformed(): RequestHandler {
  return function rejectMalformed(req, _res, next) {
    assertWellFormed(req);
    next();
  };
}

/** More than any honest client sends, also through proxies. */
const maxHeaders = 200;

/** Characters of a host and port (RFC 3986 section 3.2). What is passed on as X-Forwarded-Host ends up in links. */
const wellFormedHost = /^[A-Za-z0-9._~!$&'()*+,;=%:[\]-]*$/;

/** @throws GatewayError bad_request or headers_too_large; steps that answer before the quota call it themselves */
export function assertWellFormed(req: IncomingMessage): void {
  const { httpVersion, headers, rawHeaders } = req;
  const ambiguity = ambiguityOf(req);
  if (ambiguity !== undefined) throw ambiguity;
  if (rawHeaders.length / 2 > maxHeaders) throw new GatewayError('headers_too_large');
  const hosts = countHeader(rawHeaders, 'host');
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1') || !wellFormedHost.test(headers.host ?? '')) {
    // RFC 9112 section 3.2: exactly one valid Host, or 400.
    throw new GatewayError('bad_request', { message: 'The request needs exactly one valid Host header.' });
  }
  // Expect means nothing in HTTP/1.0.
  if (httpVersion !== '1.1') return;
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    throw new GatewayError('bad_request', { status: 417, message: 'This Expect header cannot be met.' });
  }
}

/** Notes which route of the OpenAPI document is asked for. First of all, so that refusals are counted by route too. */
export function matchRoute(api: ApiDescription): RequestHandler {
  return function matchRoute(req, res, next) {
    // "OPTIONS *" asks about the server as a whole (RFC 9110 section 9.3.7).
    res.locals.route = req.url === '*' ? api.everything : api.match(req.path);
    next();
  };
}

/** 404 and 405, by the OpenAPI document. */
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

/** A body that says itself that it is too large is refused before any of it is read. */
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
