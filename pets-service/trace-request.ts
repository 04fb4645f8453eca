import { endServerSpan, startServerSpan } from '#runtime/server-span.ts';
import { runInSpan, type Tracing } from '#runtime/tracing.ts';
import type { RequestHandler } from 'express';
import { tokenCallerOf } from './internal-token.ts';
import { routeOf } from './metrics.ts';

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
