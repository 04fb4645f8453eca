import type { Request, RequestHandler, Response } from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import type { Dispatcher } from 'undici';
import { GatewayError } from '../errors.ts';
import { absoluteAddresses } from '../http/absolute-addresses.ts';
import { peerAddress } from '../http/peer-address.ts';
import type { PublicAddress } from '../http/public-address.ts';
import { carriesBody } from '../http/request-body.ts';
import type { ResponseHeaders } from '../http/response-headers.ts';
import type { RequestSpans } from '../observability/request-spans.ts';
import { statusesWithoutContent, type UpstreamHeaders } from '../upstream/buffered-response.ts';
import { addClientHeaders, upstreamRequestHeaders } from '../upstream/forwarded-headers.ts';
import type { Authorize } from '../upstream/internal-token.ts';
import type { Target } from '../upstream/target.ts';
import { placeholderTarget, undiciTransport } from '../upstream/undici-transport.ts';
import type { Upstreams } from '../upstream/upstreams.ts';
import { callerOf } from './request-context.ts';

interface ProxyToPetsDependencies {
  upstreams: Upstreams;
  dispatcher: Dispatcher;
  upstreamTimeoutMs: number;
  authorize: Authorize;
  /** Whether an address belongs to a trusted proxy. */
  isProxy: (address: string) => boolean;
  publicAddress: PublicAddress;
  /** Undefined if no traces are exported. */
  spans: RequestSpans | undefined;
}

/** Sends the request to the pets service, on the same path, in the caller's name. */
export function proxyToPets(dependencies: ProxyToPetsDependencies): RequestHandler {
  const { upstreamTimeoutMs: timeoutMs, authorize, isProxy, publicAddress, spans } = dependencies;
  const proxy = createProxyMiddleware<Request, Response>({
    target: placeholderTarget,
    // Only requests with a route arrive here. A path filter as text would be searched for wildcards at each request.
    pathFilter: () => true,
    plugins: [
      undiciTransport<Request, Response>({
        ...dependencies,
        timeoutMs,
        requestHeaders,
        requestBody: (res) => res.locals.body ?? null,
        responseHeaders,
        onSettled(res, ms, status) {
          res.locals.upstreamMs = ms;
          res.locals.upstreamStatus = status;
        },
        startAttempt: spans === undefined ? undefined : createStartAttempt(spans),
        checkResponse,
      }),
    ],
    on: {
      // Without a listener the middleware would respond in plain text. renderError responds.
      error: () => {},
    },
  });

  function requestHeaders(req: Request, res: Response): string[] {
    const address = peerAddress(req);
    return upstreamRequestHeaders({
      rawHeaders: req.rawHeaders,
      peerAddress: address,
      peerIsTrusted: isProxy(address),
      authorization: authorize(callerOf(res.locals)),
      requestId: res.locals.requestId,
      hasBody: carriesBody(req),
      isTraced: spans !== undefined,
    });
  }

  function responseHeaders(res: Response, headers: UpstreamHeaders): ResponseHeaders {
    // A copy: if the response can't be sent, none of its headers may appear on the error.
    const response = res.locals.headers.copy();
    addClientHeaders(
      response,
      absoluteAddresses(headers, () => publicAddress.baseUrl(res.req)),
    );
    return response;
  }

  return function proxyToPets(req, res, next) {
    void proxy(req, res, next);
  };
}

function createStartAttempt({ startAttempt }: RequestSpans) {
  return ({ method, path }: Request, { locals }: Response, target: Target, resendCount: number) => {
    const { span, route } = locals;
    if (span === undefined) return undefined;
    return startAttempt(span, { method, path, route: route?.pattern, target, resendCount });
  };
}

const jsonType = /^application\/json *(?:;|$)/i;

/**
 * Rejects a response that is not meant for a client: the pets service refused the gateway's own token, or something
 * between it and the gateway responded, which shows in a redirect, in 407 or in a body that is not JSON.
 */
function checkResponse(status: number, headers: UpstreamHeaders): void {
  if (status > 599 || status === 407 || (status >= 300 && status < 400 && status !== 304)) {
    throw new GatewayError('upstream_error', { cause: `the upstream responded with status ${status}` });
  }
  if (status === 401) {
    throw new GatewayError('upstream_error', { cause: 'the upstream refused the internal token' });
  }
  const type = headers['content-type'];
  if (Array.isArray(type)) {
    throw new GatewayError('upstream_error', { cause: 'the upstream responded with several Content-Type' });
  }
  if (statusesWithoutContent.has(status) || jsonType.test(type ?? '')) return;
  throw new GatewayError('upstream_error', {
    cause: `the upstream responded with ${status} as "${type ?? ''}"`,
  });
}
