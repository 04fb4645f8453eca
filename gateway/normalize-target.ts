import type { RequestHandler } from 'express';

/**
 * Takes scheme and host off a request target in absolute form, which every server must accept (RFC 9112 section
 * 3.2.2), so that all later steps see the path that they decide on. The path itself is left exactly as it came.
 */
export function normalizeTarget(): RequestHandler {
  return function normalizeTarget(req, _res, next) {
    if (!req.url.startsWith('/')) {
      const [, rest = req.url] = /^https?:\/\/[^/?#]*(.*)$/i.exec(req.url) ?? [];
      req.url = rest === '' || rest.startsWith('?') ? `/${rest}` : rest;
    }
    next();
  };
}
