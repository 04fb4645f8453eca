import type { RequestHandler } from 'express';
import type { Logger } from 'pino';

/** The form of the gateway's request ids. Anything else could be an attempt to write into the log. */
const wellFormedRequestId = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * Logs each request when its response is complete or cut off: its caller, or why the token was refused, with the request
 * id that the gateway logs, too. Never logs a token or a body.
 */
export function recordAccess(log: Logger): RequestHandler {
  return function recordAccess(req, res, next) {
    const startedAt = performance.now();
    const { method } = req;
    res.once('close', () => {
      const { tokenCaller, tokenRefusal } = res.locals;
      log.info(
        {
          requestId: parseRequestId(req.headers['x-request-id']),
          method,
          status: res.headersSent ? res.statusCode : clientClosedRequest,
          issuer: tokenCaller?.issuer,
          caller: tokenCaller?.subject,
          tokenRefusal,
          durationMs: Math.round((performance.now() - startedAt) * 100) / 100,
          cutOff: res.writableFinished ? undefined : true,
        },
        'request',
      );
    });
    next();
  };
}

/** nginx's status for a caller that left before the response began. In logs only. */
const clientClosedRequest = 499;

/** @returns undefined for a header that is not a request id */
export function parseRequestId(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && wellFormedRequestId.test(header) ? header : undefined;
}
