import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';
import { addressGroup, peerAddress } from '../platform/http/client-address.ts';
import { holdsApiKey } from '../platform/http/public-address.ts';
import { ResponseHeaders } from '../platform/http/response-headers.ts';
import { securityHeaders } from '../platform/http/send-response.ts';
import type { RequestSpans } from '../platform/observability/request-spans.ts';
import type { ApiDescription } from '../upstream/api-description.ts';
import { isUnder } from '../upstream/routes.ts';
import type { Neighbour } from './answer-without-key.ts';
import { clientAddress } from './request-context.ts';

interface BeginDependencies {
  api: Pick<ApiDescription, 'basePaths' | 'everything' | 'match'>;
  neighbours: readonly Neighbour[];
  /** Undefined if no traces are exported. */
  spans: RequestSpans | undefined;
  /** Whether an address belongs to a trusted proxy. */
  isProxy: (address: string) => boolean;
}

const wellFormedId = /^[A-Za-z0-9._-]{1,128}$/;

/** Names and values in turn. */
const rawSecurityHeaders = Object.entries(securityHeaders).flat();

/** A year, for this host only: other services of the domain decide for themselves. */
const httpsOnly = 'max-age=31536000';

/**
 * Names the request in logs, upstream and in the response, begins the headers of the response and the span, and finds the
 * route: refusals are counted by route, too.
 */
export function begin({ api, neighbours, spans, isProxy }: BeginDependencies): RequestHandler {
  return function begin(req, res, next) {
    const offered = req.headers['x-request-id'];
    // A client's own is kept if it is well-formed.
    const requestId = isRequestId(offered) ? offered : randomUUID();
    const headers = new ResponseHeaders(['X-Request-Id', requestId, ...rawSecurityHeaders]);
    // Has no meaning over plain HTTP (RFC 6797 section 7.2). A trusted proxy, which ends TLS, says whether it is HTTPS.
    if (req.secure) headers.set('Strict-Transport-Security', httpsOnly);
    const { path } = req;
    // "OPTIONS *" asks about the server as a whole (RFC 9110 section 9.3.7).
    const route = req.url === '*' ? api.everything : (api.match(path) ?? matchNeighbour(path));
    res.locals = { requestId, headers, isOfApi: isUnder(api.basePaths, path), route };
    if (spans === undefined) return next();
    const span = spans.startRequest({
      req,
      path,
      route: route?.pattern,
      service: route?.service?.name,
      scheme: req.protocol,
      requestId,
      clientAddress: () => addressGroup(clientAddress(req)),
      peerIsTrusted: isProxy(peerAddress(req)),
    });
    res.locals.span = span;
    res.on('close', () => {
      const { caller, decision, errorCode } = res.locals;
      spans.endRequest(span, res, { caller, decision, errorCode });
    });
    spans.run(span, next);
  };

  function matchNeighbour(path: string) {
    for (const neighbour of neighbours) {
      const route = neighbour.match(path);
      if (route !== undefined) return route;
    }
    return undefined;
  }
}

function isRequestId(offered: string | string[] | undefined): offered is string {
  return typeof offered === 'string' && wellFormedId.test(offered) && !holdsApiKey(offered);
}
