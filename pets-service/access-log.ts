import type { RequestHandler } from 'express';
import type { Logger } from 'pino';

/** As the gateway makes them. Anything else could be an attempt to write into the log. */
const wellFormedRequestId = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * One line for each request, when its response is finished or cut off: who asked, or why the token was refused, under
 * the request id that the gateway logs too. Never a token or a body.
 */
export function recordAccess(log: Logger): RequestHandler {
  return function recordAccess(req, res, next) {
    const startedAt = performance.now();
    const { method } = req;
    res.once('close', () => {
      const { tokenCaller, tokenRefusal } = res.locals;
      log.info(
        {
          requestId: requestIdOf(req.headers['x-request-id']),
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

/** In logs alone: the caller went away before it was answered. The number is nginx's. */
const clientClosedRequest = 499;

/** @returns undefined for a header that is none of ours */
export function requestIdOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && wellFormedRequestId.test(header) ? header : undefined;
}
