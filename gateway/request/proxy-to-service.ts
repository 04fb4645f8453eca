import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import { createProxyMiddleware, type Plugin } from 'http-proxy-middleware';
import { GatewayError } from '../errors.ts';
import type { Caller } from '../keys/api-key-cache.ts';
import { absoluteAddresses, peerAddress, type PublicAddress } from '../platform/http/addresses.ts';
import { createSlots } from '../platform/http/connection-limits.ts';
import { isSafe } from '../platform/http/request.ts';
import type { ResponseHeaders } from '../platform/http/response.ts';
import type { WebSockets } from '../platform/http/websocket.ts';
import type { RequestSpans } from '../platform/observability/tracing.ts';
import { createTransport } from '../upstream/exchange.ts';
import { addClientHeaders, upstreamRequestHeaders } from '../upstream/headers.ts';
import { operationOf, type RoutedService } from '../upstream/routes.ts';
import { type ServiceUpstream, type Transport, type UpstreamHeaders } from '../upstream/transport.ts';
import { TooManyStreams, UnsuitableResponse } from '../upstream/upstream-error.ts';
import { callerOf, isUpgrade } from './begin.ts';

interface ProxyToServiceDependencies {
  /** By the ordinal of the service. */
  upstreams: readonly ServiceUpstream[];
  /** Whether an address belongs to a trusted proxy. */
  isProxy: (address: string) => boolean;
  publicAddress: PublicAddress;
  /** Header in lower case that may hold the API key, which no service sees. */
  keyHeader: string | undefined;
  webSockets: WebSockets<Caller>;
  /** Undefined if no traces are exported. */
  spans: RequestSpans | undefined;
}

/**
 * Target for the middleware, which requires one; the transport chooses the real one. Not a URL, which the middleware
 * would parse for each request.
 */
export const placeholderTarget = { hostname: 'upstream' };

/**
 * Plugin for http-proxy-middleware that sends through undici. The middleware's own transport, node:http, takes twice the
 * CPU time of a whole request. Matching and errors stay with the middleware.
 * @param transportOf how a request is sent
 */
export function undiciTransport<Req extends IncomingMessage, Res extends ServerResponse>(
  transportOf: (res: Res) => Transport<Req, Res> | undefined,
): Plugin<Req, Res> {
  return function undiciTransport(proxyServer) {
    // A rejection makes the middleware emit 'error' and pass the error on to renderError.
    proxyServer.web = async (req, res) => transportOf(res)?.(req, res);
  };
}

/** One for all services. */
const proxy = createProxyMiddleware<Request, Response>({
  target: placeholderTarget,
  // Only requests with a route arrive here. A path filter as text would be searched for wildcards at each request.
  pathFilter: () => true,
  plugins: [undiciTransport<Request, Response>(({ locals }) => locals.transport)],
  on: {
    // Without a listener the middleware would respond in plain text. renderError responds.
    error: () => {},
  },
});

/** Sends the request to the service of its route, on the same path, in the caller's name. */
export function proxyToService({ upstreams, ...dependencies }: ProxyToServiceDependencies): RequestHandler {
  const { webSockets } = dependencies;
  const transports = upstreams.map((upstream) => createServiceTransport(upstream, dependencies));
  return function proxyToService(req, res, next) {
    const limit = isUpgrade(req, res.locals) ? webSockets.takePlace(callerOf(res.locals), res) : undefined;
    if (limit === 'owner') throw new TooManyStreams('WebSockets');
    if (limit === 'total')
      throw new GatewayError('service_unavailable', {
        message: 'The gateway has too many WebSockets. Retry shortly.',
        headers: { 'Retry-After': '1' },
      });
    res.locals.transport = transports[serviceOf(res).ordinal];
    void proxy(req, res, next);
  };
}

/** Requests without a route do not arrive here, and the gateway's own routes have ended earlier. */
function serviceOf({ locals }: Response): RoutedService {
  if (locals.route?.service === undefined) throw new GatewayError('not_found');
  return locals.route.service;
}

const describedHeaders = (req: Request, res: Response) =>
  operationOf(serviceOf(res), req.method)?.requestHeaders;

function createServiceTransport(
  { name, upstreams, timeoutMs, maxStreamsOfCustomer, setCookie, authorize }: ServiceUpstream,
  { isProxy, publicAddress, keyHeader, webSockets, spans }: Omit<ProxyToServiceDependencies, 'upstreams'>,
): Transport<Request, Response> {
  const takeStreamSlot = createSlots(Infinity, maxStreamsOfCustomer);
  return createTransport<Request, Response>({
    upstreams,
    timeoutMs,
    requestHeaders,
    takesIdempotencyKey(req, res) {
      const described = describedHeaders(req, res);
      return described !== 'all' && described?.has('idempotency-key') === true;
    },
    takeStream({ locals }) {
      const freeSlot = takeStreamSlot(callerOf(locals).customerId);
      if (typeof freeSlot === 'string') throw new TooManyStreams();
      return freeSlot;
    },
    upgrade(req, { locals }) {
      if (!isUpgrade(req, locals)) return undefined;
      return (service) => webSockets.open(req.socket, service, callerOf(locals));
    },
    requestBody: (res) => res.locals.body ?? null,
    responseHeaders,
    onErrorCode(res, code) {
      res.locals.serviceErrorCode = code;
    },
    onSettled(res, ms, status) {
      res.locals.upstreamMs = ms;
      res.locals.upstreamStatus = status;
    },
    startAttempt:
      spans &&
      (({ method }, { locals: { span } }, target) =>
        span && spans.startAttempt(span, { method, service: name, target })),
    checkResponse,
  });

  function requestHeaders(req: Request, res: Response): string[] {
    const address = peerAddress(req);
    return upstreamRequestHeaders({
      rawHeaders: req.rawHeaders,
      peerAddress: address,
      peerIsTrusted: isProxy(address),
      authorization: authorize(callerOf(res.locals)),
      requestId: res.locals.requestId,
      hasBody: res.locals.body !== undefined,
      keyHeader,
      described: describedHeaders(req, res),
      isTraced: spans !== undefined,
    });
  }

  function responseHeaders(res: Response, headers: UpstreamHeaders): ResponseHeaders {
    if (/^text\/event-stream\b/i.test(String(headers['content-type']))) res.locals.isEventStream = true;
    // A copy: if the response can't be sent, none of its headers may appear on the error.
    const response = res.locals.headers.copy();
    addClientHeaders(
      response,
      absoluteAddresses(headers, () => publicAddress.baseUrl(res.req)),
      setCookie,
    );
    return response;
  }
}

/** Rejects a response that is not meant for a client: the service refused the gateway's own token, or it is no valid HTTP. */
function checkResponse(req: Request, status: number, headers: UpstreamHeaders): void {
  if (status === 401 || status === 407)
    throw new UnsuitableResponse(`the upstream refused the internal token with ${status}`);
  if (status === 304 && !isConditional(req))
    throw new UnsuitableResponse('the upstream responded 304 to a request without a condition');
  const { 'transfer-encoding': coding = 'chunked' } = headers;
  // The header does not pass, so the client could not decode it.
  if (String(coding).toLowerCase() !== 'chunked')
    throw new UnsuitableResponse("the upstream's response has a transfer coding other than chunked");
  if (status > 599 || Array.isArray(headers['content-type']))
    throw new UnsuitableResponse(`the upstream's response with status ${status} is not valid HTTP`);
}

/** Whether 304 may be the response (RFC 9110 section 15.4.5). */
function isConditional(req: Request): boolean {
  const { 'if-none-match': tags, 'if-modified-since': date } = req.headers;
  return isSafe(req) && (tags !== undefined || date !== undefined);
}
