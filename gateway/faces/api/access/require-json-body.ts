import type { RequestHandler } from 'express';
import { ApiError } from '../api-error.ts';

/**
 * Refuses a body that is not JSON. A form of another site can send only other types without asking first (Fetch, section
 * "CORS-safelisted request-header").
 */
export function requireJsonBody(): RequestHandler {
  return function requireJsonBody(req, _res, next) {
    // Null without a body, false for another type. Clients send a length of 0 without a type.
    if (req.is('application/json') !== false || req.headers['content-length'] === '0') return next();
    throw new ApiError('bad_request', { message: 'A body must have the Content-Type application/json.' });
  };
}
