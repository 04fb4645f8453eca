import type { RequestHandler } from 'express';
import { awaitsContinue } from '../http/request-body.ts';
import { assertWellFormed } from '../http/well-formed-request.ts';
import type { Portal } from '../portal/portal.ts';
import { isUnder } from '../services/routes.ts';

const paths = ['/portal'];

/** Responds under /portal, where customers look after their keys. Needs a session in place of a key, and costs no quota. */
export function servePortal(portal: Portal): RequestHandler {
  return function servePortal(req, res, next) {
    const { method, path } = req;
    if (!isUnder(paths, path) || method === 'OPTIONS') return next();
    const { route, headers } = res.locals;
    if (route === undefined || !route.allow.includes(method)) return next();
    assertWellFormed(req);
    res.locals.decision = 'free';
    const raw = headers.toRaw();
    for (let index = 0; index < raw.length; index += 2)
      res.setHeader(String(raw[index]), raw[index + 1] ?? '');
    if (awaitsContinue(req)) res.writeContinue();
    portal.handle(req, res, next);
  };
}
