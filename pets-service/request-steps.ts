import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Span } from '@opentelemetry/api';
import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import { PetsError } from './errors.ts';
import type { TokenCaller } from './internal-token.ts';
import type { Metrics } from './metrics.ts';

declare module 'express-serve-static-core' {
  /** What the steps find out about a request. */
  interface Locals {
    requestId: string;
    tokenCaller?: TokenCaller;
    /** Why the token was refused. */
    tokenRefusal?: string;
    /** Server span, if traces are exported. */
    span?: Span;
    /** Code of the error that was sent. */
    sentCode?: string;
  }
}

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

/**
 * Logs and counts each request when its response is complete or cut off. The log names its caller, or why the token was
 * refused, with the request id that the gateway logs, too. Never logs a token or a body.
 */
export function recordAccess({ log, metrics }: { log: Logger; metrics: Metrics }): RequestHandler {
  return function recordAccess(req, res, next) {
    const startedAt = performance.now();
    const { method, path } = req;
    res.once('close', () => {
      const { requestId, span, tokenCaller, tokenRefusal } = res.locals;
      const durationMs = performance.now() - startedAt;
      // nginx's status for a caller that left before the response began. In logs and metrics only.
      const status = res.headersSent ? res.statusCode : 499;
      const issuer = tokenCaller?.issuer;
      metrics.recordRequest({ path, method, status, caller: issuer, seconds: durationMs / 1000 });
      const fields = {
        requestId,
        trace_id: span?.spanContext().traceId,
        method,
        status,
        issuer,
        caller: tokenCaller?.subject,
        tokenRefusal,
        durationMs: Math.round(durationMs * 100) / 100,
        cutOff: res.writableFinished ? undefined : true,
      };
      log.info(fields, 'request');
    });
    next();
  };
}

/** More than the gateway accepts and adds. */
const maxHeaders = 220;

/** Characters of a host and port (RFC 3986 section 3.2). */
const wellFormedHost = /^[A-Za-z0-9._~!$&'()*+,;=%:[\]-]*$/;

/**
 * Rejects what Node's parser accepts although another server may read it differently: another end of the request, or
 * another target (RFC 9112 sections 3.2, 6.1 and 11.2). The gateway refuses the same, but internal services do not come
 * through it.
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
    const hosts = countHeader('host', req);
    // HTTP/1.0 may omit it.
    const isValid = hosts === 0 ? req.httpVersion === '1.0' : hosts === 1;
    if (!isValid || !wellFormedHost.test(req.headers.host ?? '')) throw new PetsError('bad_request');
    next();
  };
}

function findAmbiguity(req: IncomingMessage): string | undefined {
  const coding = req.headers['transfer-encoding'];
  if (req.httpVersion !== '1.1' && req.httpVersion !== '1.0') {
    return 'This HTTP version is not supported. Use HTTP/1.1 or HTTP/1.0.';
  }
  if (coding !== undefined && req.httpVersion === '1.0') {
    return 'HTTP/1.0 has no Transfer-Encoding. Use Content-Length.';
  }
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return 'The only supported Transfer-Encoding is chunked.';
  }
  return invalidTargets.has(req) ? 'The request target must be a path without a fragment.' : undefined;
}

/**
 * Counts how often a header was sent. Node's `headers` joins or drops repeated ones.
 * @param name in lower case
 */
export const countHeader = (name: string, { rawHeaders }: IncomingMessage): number =>
  rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name).length;

const invalidTargets = new WeakSet<IncomingMessage>();

/**
 * Leaves path and query as the target, exactly as they were sent. Scheme and host of an absolute form, which every server
 * must accept, are removed (RFC 9112 section 3.2.2). An invalid target is replaced, since Express would look for a URL in it.
 */
export function normalizeTarget(req: IncomingMessage): void {
  const [, rest] = /^https?:\/\/[^/?#]*((?:[/?#].*)?)$/is.exec(req.url ?? '') ?? [];
  const target = rest === undefined ? (req.url ?? '') : rest.startsWith('/') ? rest : `/${rest}`;
  // The asterisk means the server as a whole (RFC 9110 section 9.3.7).
  if (target === '*' && req.method === 'OPTIONS') return;
  if (!target.startsWith('/') || target.includes('#')) invalidTargets.add(req);
  req.url = target.startsWith('/') ? target.replace(/#.*/s, '') : '/';
}
