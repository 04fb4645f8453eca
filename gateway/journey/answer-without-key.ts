import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { ApiDescription } from '../api-description.ts';
import { sendJson } from '../http/send-response.ts';
import type { AnonymousLimit } from '../quota/address-limit.ts';
import { addressLimitHeaders } from '../quota/rate-limit-headers.ts';
import { assertWellFormed } from './reject-request.ts';
import { clientAddress } from './request-context.ts';

/** The document is the same for everybody and changes with a new version of the gateway only. */
const cacheable = 'public, max-age=300';

/** GET /openapi.json. */
export function serveDescription({ json }: ApiDescription): RequestHandler {
  return function serveDescription(req, res, next) {
    const isDescription = req.path === '/openapi.json' && (req.method === 'GET' || req.method === 'HEAD');
    if (!isDescription) return next();
    assertWellFormed(req);
    res.locals.decision = 'free';
    const { headers } = res.locals;
    headers.setAll({ 'Cache-Control': cacheable });
    sendJson(res, 200, headers, json);
  };
}

interface AnswerOptionsDependencies {
  api: ApiDescription;
  anonymousLimit: AnonymousLimit;
  now: () => number;
}

/** OPTIONS: what may be done here. Costs nothing; under the base path it shows the limit of the address. */
export function answerOptions({ api, anonymousLimit, now }: AnswerOptionsDependencies): RequestHandler {
  return function answerOptions(req, res, next) {
    return req.method === 'OPTIONS' ? answer(req, res, next) : next();
  };

  async function answer(req: Request, res: Response, next: NextFunction): Promise<void> {
    const { route, headers } = res.locals;
    if (route === undefined) return next();
    assertWellFormed(req);
    res.locals.decision = 'free';
    if (req.path.startsWith(`${api.basePath}/`)) {
      headers.setAll(addressLimitHeaders(await anonymousLimit.peek(clientAddress(req)), now()));
    }
    headers.set('Allow', route.allow.join(', '));
    res.writeHead(204, headers.toRaw()).end();
  }
}
