import type { RequestHandler } from 'express';
import { pino, type Logger } from 'pino';
import type { TokenCaller } from './internal-token.ts';
import type { Metrics } from './metrics.ts';

declare module 'express-serve-static-core' {
  /** What the steps find out about a request. */
  interface Locals {
    requestId: string;
    tokenCaller?: TokenCaller;
    /** Why the token was refused. */
    tokenRefusal?: string;
    /** Undefined if the request belongs to no trace. */
    traceId?: string;
    /** Code of the error that was sent. */
    sentCode?: string;
  }
}

/** One JSON line for each event on standard output. While the disk is full, lines beyond 4 MiB are dropped. */
export function createLog(level: string): Logger {
  const output = pino.destination({ sync: true, maxLength: 4 * 1024 * 1024 });
  output.on('error', () => {});
  return pino({ level, base: { service: 'pets-service' }, serializers: { err: serializeError } }, output);
}

/** Not all fields of an error: one of Prisma may hold what a caller sent. */
function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  const { name, message, stack, cause } = error;
  return { type: name, message, stack, cause: cause === undefined ? undefined : serializeError(cause) };
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
      const { requestId, traceId, tokenRefusal, tokenCaller } = res.locals;
      const durationMs = performance.now() - startedAt;
      // nginx's status for a caller that left before the response began. In logs and metrics only.
      const status = res.headersSent ? res.statusCode : 499;
      metrics.recordRequest(path, method, status, tokenCaller?.issuer ?? 'none', durationMs / 1000);
      const fields = {
        requestId,
        trace_id: traceId,
        method,
        status,
        issuer: tokenCaller?.issuer,
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
