import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { GatewayError } from './errors.ts';
import type { Metrics } from './metrics.ts';

/** One line and one count for each request, when its response is finished or cut off. Never a key, token or body. */
export function recordAccess({ log, metrics }: { log: Logger; metrics: Metrics }): RequestHandler {
  return function recordAccess(req, res, next) {
    const startedAt = performance.now();
    const { method } = req;
    res.once('close', () => {
      const { requestId, caller, decision, errorCode, upstreamMs, route = 'unmatched' } = res.locals;
      const status = res.headersSent ? res.statusCode : clientClosedRequest;
      metrics.requests.inc({ route, method: knownMethods.has(method) ? method : 'other', status });
      log.info(
        {
          requestId,
          method,
          route,
          status,
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

/** The same for an answer to something that never became a request. */
export function recordRawAnswer(
  { log, metrics }: { log: Logger; metrics: Metrics },
  error: GatewayError,
): void {
  const { code, status } = error;
  metrics.requests.inc({ route: 'none', method: 'other', status });
  log.info({ status, code }, 'not a request');
}

/** In logs and metrics alone: the client went away before it was answered. The number is nginx's. */
const clientClosedRequest = 499;

/** A client may invent methods, and a metric must not grow with them. */
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

function round(ms: number): number {
  return Math.round(ms * 100) / 100;
}
