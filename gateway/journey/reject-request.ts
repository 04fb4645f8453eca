import type { RequestHandler } from 'express';
import { GatewayError } from '../errors.ts';
import { assertWellFormed } from '../http/well-formed-request.ts';

/**
 * Rejects what Node's parser accepts although it is no valid request. Comes after the quota, so that these responses have
 * the rate limit headers of the key.
 */
export function rejectMalformed(): RequestHandler {
  return function rejectMalformed(req, _res, next) {
    assertWellFormed(req);
    next();
  };
}

/** Rejects paths (404) and methods (405) that the OpenAPI document does not have. */
export function rejectUnknownRoute(): RequestHandler {
  return function rejectUnknownRoute(req, res, next) {
    const { route } = res.locals;
    if (route === undefined) throw new GatewayError('not_found');
    if (!route.allow.includes(req.method)) {
      throw new GatewayError('method_not_allowed', { headers: { Allow: route.allow.join(', ') } });
    }
    next();
  };
}
