import type { Span } from '@opentelemetry/api';
import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
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
