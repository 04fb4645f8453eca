import type { Span } from '@opentelemetry/api';
import { endServerSpan, startServerSpan } from '#runtime/server-span.ts';
import { runInSpan, type Tracing } from '#runtime/tracing.ts';
import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import { tokenCallerOf, type TokenCaller } from './internal-token.ts';
import { routeOf, type Metrics } from './metrics.ts';

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

/**
 * Records the span of each request, and continues the trace of its caller. Comes after requireInternalToken, because only
 * an authenticated caller may decide which traces are recorded.
 */
export function traceRequest(tracing: Tracing): RequestHandler {
  return function traceRequest(req, res, next) {
    const { requestId } = res.locals;
    const { issuer, subject } = tokenCallerOf(res.locals);
    const { path, protocol: scheme, headers } = req;
    const attributes = () => ({
      'pets.request_id': requestId,
      'pets.issuer': issuer,
      'pets.caller': subject,
    });
    const span = startServerSpan(tracing, { req, path, route: routeOf(path), scheme, attributes, headers });
    res.locals.span = span;
    res.once('close', () => endServerSpan(tracing, span, res, res.locals.sentCode));
    runInSpan(span, next);
  };
}
