import type { RequestHandler } from 'express';
import type { ApiDescription } from '../api-description.ts';
import type { PublicAddress } from '../http/public-address.ts';
import { assertWellFormed } from '../http/well-formed-request.ts';
import { underPath } from './under-path.ts';

interface AllowOriginsDependencies {
  corsOrigins: readonly string[] | '*';
  api: Pick<ApiDescription, 'everything' | 'basePaths'>;
  publicAddress: Pick<PublicAddress, 'baseUrl'>;
}

/** Seconds for which a browser need not ask again: the longest that Chromium keeps it. */
const preflightMaxAge = '7200';

/** @returns the headers with which a page of an origin may read a response; none at all if no site is allowed */
export function createOriginHeaders(
  corsOrigins: readonly string[] | '*',
): (origin: string | undefined) => Readonly<Record<string, string>> {
  if (corsOrigins.length === 0) return () => ({});
  const allowed = corsOrigins === '*' ? undefined : new Set(corsOrigins);
  return (origin) =>
    origin === undefined || allowed?.has(origin) === false
      ? { Vary: 'Origin' }
      : {
          Vary: 'Origin',
          'Access-Control-Allow-Origin': allowed === undefined ? '*' : origin,
          'Access-Control-Expose-Headers': '*',
        };
}

/**
 * Lets pages of other sites use the API, and read every response and refusal (CORS protocol of the Fetch standard). Never with
 * credentials of the browser's own, such as cookies: a page has to send a key. An early step, so that refusals have its headers.
 * @returns no step at all if no site is allowed
 */
export function allowOrigins({
  corsOrigins,
  api,
  publicAddress,
}: AllowOriginsDependencies): RequestHandler[] {
  if (corsOrigins.length === 0) return [];
  const headersFor = createOriginHeaders(corsOrigins);
  const step: RequestHandler = function allowOrigins(req, res, next) {
    const { headers, route = api.everything } = res.locals;
    const { origin } = req.headers;
    headers.setAll(headersFor(origin));
    if (!headers.has('Access-Control-Allow-Origin')) return next();
    if (req.method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined) {
      assertWellFormed(req);
      res.locals.decision = 'free';
      headers.set('Access-Control-Allow-Methods', route.allow.join(', '));
      // The asterisk does not cover Authorization. A header that means nothing to the operation is dropped later.
      headers.set('Access-Control-Allow-Headers', 'Authorization, *');
      headers.set('Access-Control-Max-Age', preflightMaxAge);
      // Also for a path that does not exist: without it the page could not read the 404.
      res.writeHead(204, headers.toRaw()).end();
      return;
    }
    // The gateway's own pages send an Origin, too, unless they only read.
    res.locals.isFromOtherSite = URL.parse(publicAddress.baseUrl(req))?.origin !== origin;
    next();
  };
  return [underPath(api.basePaths, step)];
}
