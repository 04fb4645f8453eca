import type { RequestHandler } from 'express';
import { GatewayError } from '../errors.ts';
import { assertWellFormed } from '../http/well-formed-request.ts';
import { isAmbiguousPath, isUnder } from '../services/routes.ts';

const ambiguousPath =
  'The path must have no empty segment, none of dots, and no encoded slash, backslash or control character.';

/**
 * Rejects what Node's parser accepts although it is no valid request. Comes after the quota, so that these responses have
 * the rate limit headers of the key.
 */
export function rejectMalformed(basePaths: readonly string[]): RequestHandler {
  return function rejectMalformed(req, res, next) {
    assertWellFormed(req);
    if (res.locals.route === undefined && isUnder(basePaths, req.path) && isAmbiguousPath(req.path))
      throw new GatewayError('bad_request', { message: ambiguousPath });
    next();
  };
}

/**
 * Rejects paths (404) and methods (405) that the API does not have. A response to TRACE would show the client what the
 * gateway adds to a request, its token among it.
 */
export function rejectUnknownRoute(): RequestHandler {
  return function rejectUnknownRoute(req, res, next) {
    const { route } = res.locals;
    if (route === undefined) throw new GatewayError('not_found');
    const passes = route.service?.others !== undefined && req.method !== 'TRACE';
    if (!passes && !route.allow.includes(req.method)) {
      throw new GatewayError('method_not_allowed', { headers: { Allow: route.allow.join(', ') } });
    }
    next();
  };
}
