import type { RequestHandler } from 'express';
import { ApiError } from '../api-error.ts';
import { requestSession } from './caller.ts';
import { isCsrfToken } from './csrf-token.ts';
import { isReading } from './is-reading.ts';

/** Refuses a change without the token of `GET /api/session`. Comes after requireSession. */
export function requireCsrfToken(): RequestHandler {
  return function requireCsrfToken(req, _res, next) {
    if (isReading(req)) return next();
    const given = req.headers['x-csrf-token'];
    if (typeof given === 'string' && isCsrfToken(given, requestSession(req).token)) return next();
    throw new ApiError('invalid_csrf_token', {
      message: 'A change needs the header X-CSRF-Token with the csrfToken that GET /api/session returns.',
    });
  };
}
