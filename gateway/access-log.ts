import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { Metrics } from './metrics.ts';

/** One line and one count for each request, when its response is finished or cut off. Never a key, token or body. */
export function recordAccess({ log, metrics }: { log: Logger; metrics: Metrics }): RequestHandler {
  return function recordAccess(req, res, next) {
    const startedAt = performance.now();
    const { method } = req;
    res.once('close', () => {
      const { requestId, caller, decision, errorCode, upstreamMs, route = 'unmatched' } = res.locals;
      metrics.requests.inc({
        route,
        method: knownMethods.has(method) ? method : 'other',
        status: res.statusCode,
      });
      log.info(
        {
          requestId,
          method,
          route,
          status: res.statusCode,
          keyId: caller?.id,
          plan: caller?.plan,
          decision,
          code: errorCode,
          durationMs: round(performance.now() - startedAt),
          upstreamMs: upstreamMs === undefined ? undefined : round(upstreamMs),
          cutOff: res.writableFinished ? undefined : true,
        },
        'request',
      );
    });
    next();
  };
}

/** A client may invent methods, and a metric must not grow with them. */
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

function round(ms: number): number {
  return Math.round(ms * 100) / 100;
}
