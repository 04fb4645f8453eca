import type { RequestHandler } from 'express';
import type { ApiDescription } from '../api-description.ts';
import type { Docs } from '../docs/docs.ts';
import type { Portal } from '../portal/portal.ts';

/** Finds the route of the API, the documentation or the portal. An early step, so that refusals are counted by route, too. */
export function matchRoute(api: ApiDescription, docs: Docs, portal: Portal): RequestHandler {
  return function matchRoute(req, res, next) {
    // "OPTIONS *" asks about the server as a whole (RFC 9110 section 9.3.7).
    res.locals.route =
      req.url === '*'
        ? api.everything
        : (api.match(req.path) ?? docs.match(req.path) ?? portal.match(req.path));
    next();
  };
}
