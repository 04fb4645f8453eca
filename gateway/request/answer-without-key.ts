import { Router, type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import type { PublicAddress } from '../platform/http/addresses.ts';
import { assertWellFormed, awaitsContinue } from '../platform/http/request.ts';
import type { AddressLimit } from '../quota/address-limit.ts';
import { addressLimitHeaders } from '../quota/rate-limit-headers.ts';
import type { ApiDescription } from '../upstream/api-description.ts';
import { clientAddress, type Neighbour } from './begin.ts';

/** Headers of a response as its origin decides. */
export type OriginHeaders = (origin: string | undefined) => Readonly<Record<string, string>>;

/** Seconds for which a browser need not ask again: the longest that Chromium keeps it. */
const preflightMaxAge = '7200';

/** @returns the headers with which a page of an origin may read a response; none at all if no site is allowed */
export function createOriginHeaders(corsOrigins: readonly string[] | '*'): OriginHeaders {
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

interface AllowOriginsDependencies {
  corsOrigins: readonly string[] | '*';
  originHeaders: OriginHeaders;
  api: Pick<ApiDescription, 'everything'>;
  publicAddress: Pick<PublicAddress, 'baseUrl'>;
}

/**
 * Lets pages of other sites use the API, and read every response and refusal (CORS protocol of the Fetch standard). Never with
 * credentials of the browser's own, such as cookies: a page has to send a key. An early step, so that refusals have its headers.
 * @returns no step at all if no site is allowed
 */
export function allowOrigins(dependencies: AllowOriginsDependencies): RequestHandler[] {
  const { corsOrigins, originHeaders, api, publicAddress } = dependencies;
  if (corsOrigins.length === 0) return [];
  return [
    function allowOrigins(req, res, next) {
      const { headers, isOfApi, route = api.everything } = res.locals;
      if (!isOfApi) return next();
      const { origin } = req.headers;
      headers.setAll(originHeaders(origin));
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
    },
  ];
}

interface AnswerWithoutKeyDependencies {
  api: ApiDescription;
  neighbours: readonly Neighbour[];
  publicAddress: PublicAddress;
  addressLimit: Pick<AddressLimit, 'peek'>;
  now: () => number;
}

/** Responds to what needs no key and costs no quota: the description, the neighbours, and OPTIONS of any path. */
export function answerWithoutKey(dependencies: AnswerWithoutKeyDependencies): RequestHandler {
  const { api, neighbours, publicAddress, addressLimit, now } = dependencies;
  // The document changes only with a new version of the gateway. With an address from the request, a shared cache could give
  // one client what another one's headers have made.
  const cacheControl = `${publicAddress.fixed === undefined ? 'private' : 'public'}, max-age=300`;
  const others = Router().all(/^/, serveDescription, serveNeighbour);
  return function answerWithoutKey(req, res, next) {
    if (req.method === 'OPTIONS') return answerOptions(req, res, next);
    // Nearly all requests are for the API.
    return res.locals.isOfApi ? next() : others(req, res, next);
  };

  /** Costs nothing; under the base path it shows the address' limit. */
  async function answerOptions(req: Request, res: Response, next: NextFunction) {
    const { route, headers, isOfApi } = res.locals;
    if (route === undefined) return next();
    beginFree(req, res);
    if (isOfApi) headers.setAll(addressLimitHeaders(await addressLimit.peek(clientAddress(req)), now()));
    headers.set('Allow', route.allow.join(', '));
    res.writeHead(204, headers.toRaw()).end();
  }

  /** Pages of any origin may read it: it needs no key, and the tools that read it run in browsers, too. */
  function serveDescription(req: Request, res: Response, next: NextFunction): void {
    if (req.path !== '/openapi.json' || (req.method !== 'GET' && req.method !== 'HEAD')) return next();
    beginFree(req, res);
    passHeaders(res);
    res.set({ 'Cache-Control': cacheControl, 'Access-Control-Allow-Origin': '*' });
    res.type('json').send(api.jsonAt(publicAddress.baseUrl(req)));
  }

  function serveNeighbour(req: Request, res: Response, next: NextFunction): unknown {
    const { route } = res.locals;
    if (route === undefined || !route.allow.includes(req.method)) return next();
    const neighbour = neighbours.find(({ match }) => match(req.path) !== undefined);
    if (neighbour === undefined) return next();
    beginFree(req, res);
    passHeaders(res);
    if (awaitsContinue(req)) res.writeContinue();
    return neighbour.serve(req, res, next);
  }
}

function beginFree(req: Request, res: Response): void {
  assertWellFormed(req);
  res.locals.decision = 'free';
}

/** Express' own methods send what is set on the response. */
function passHeaders(res: Response): void {
  const raw = res.locals.headers.toRaw();
  for (let index = 0; index < raw.length; index += 2) res.setHeader(String(raw[index]), raw[index + 1] ?? '');
}
