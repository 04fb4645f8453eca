import type { RequestHandler } from 'express';
import { ApiError } from '../api/api-error.ts';
import { sessionOf } from './console-session.ts';
import { isReading } from './is-reading.ts';

/** A POST that changes nothing: what it asks about is too large for an address, or must not be in one. */
const readingPosts = [/^\/keys\/find$/, /^\/(?:keys|customers|plans)\/[^/]+\/effect$/];

/** Refuses a change by a viewer. Comes after requireSession. */
export function requireOperator(): RequestHandler {
  return function requireOperator(req, _res, next) {
    const reads =
      isReading(req) || (req.method === 'POST' && readingPosts.some((path) => path.test(req.path)));
    if (reads || sessionOf(req).role === 'operator') return next();
    throw new ApiError('operator_required');
  };
}
