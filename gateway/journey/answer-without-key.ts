import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { ApiDescription } from '../api-description.ts';
import { createEncodeText, encodings, type Encoding } from '../http/encoded-text.ts';
import type { PublicAddress } from '../http/public-address.ts';
import { assertWellFormed } from '../http/well-formed-request.ts';
import type { AddressLimit } from '../quota/address-limit.ts';
import { addressLimitHeaders } from '../quota/rate-limit-headers.ts';
import { isUnder } from '../services/routes.ts';
import { clientAddress } from './request-context.ts';
import { sendEncodedText } from './send-encoded-text.ts';

/** The document changes only with a new version of the gateway. */
const cacheable = 'max-age=300';

/**
 * Responds to GET /openapi.json. Pages of any origin may read it: it needs no key, and the tools that read it run in
 * browsers, too. It is compressed once, and only with PUBLIC_URL: without it, clients choose the addresses in the document,
 * and each Host that is made up would cost a compression.
 */
export function serveDescription(
  { jsonAt }: ApiDescription,
  { baseUrl, fixed }: PublicAddress,
): RequestHandler {
  const encodeText = createEncodeText(1);
  const text = fixed === undefined ? undefined : jsonAt(fixed).body.toString();
  const codings = text === undefined ? (['identity'] as const) : encodings;
  // With an address from the request, a shared cache could give one client what another one's headers have made.
  const cacheControl = fixed !== undefined ? `public, ${cacheable}` : `private, ${cacheable}`;
  return function serveDescription(req, res, next) {
    const isDescription = req.path === '/openapi.json' && (req.method === 'GET' || req.method === 'HEAD');
    if (!isDescription) return next();
    assertWellFormed(req);
    res.locals.decision = 'free';
    const { headers } = res.locals;
    headers.set('Cache-Control', cacheControl);
    headers.set('Access-Control-Allow-Origin', '*');
    const contentType = 'application/json; charset=utf-8';
    const encode = (encoding: Encoding) =>
      text === undefined ? jsonAt(baseUrl(req)) : encodeText(text, encoding);
    return sendEncodedText(req, res, headers, { contentType, codings, encode });
  };
}

interface AnswerOptionsDependencies {
  api: ApiDescription;
  addressLimit: AddressLimit;
  now: () => number;
}

/** Responds to OPTIONS with the methods of the path. Costs nothing; under the base path it shows the address' limit. */
export function answerOptions({ api, addressLimit, now }: AnswerOptionsDependencies): RequestHandler {
  return function answerOptions(req, res, next) {
    return req.method === 'OPTIONS' ? respond(req, res, next) : next();
  };

  async function respond(req: Request, res: Response, next: NextFunction): Promise<void> {
    const { route, headers } = res.locals;
    if (route === undefined) return next();
    assertWellFormed(req);
    res.locals.decision = 'free';
    if (isUnder(api.basePaths, req.path)) {
      headers.setAll(addressLimitHeaders(await addressLimit.peek(clientAddress(req)), now()));
    }
    headers.set('Allow', route.allow.join(', '));
    res.writeHead(204, headers.toRaw()).end();
  }
}
