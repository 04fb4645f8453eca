import type { Request, RequestHandler, Response } from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import type { Dispatcher } from 'undici';
import type { Caller } from '../api-keys/api-key-cache.ts';
import { GatewayError } from '../errors.ts';
import { carriesBody } from '../http/request-body.ts';
import type { ResponseHeaders } from '../http/response-headers.ts';
import { withoutContent, type UpstreamHeaders } from '../upstream/buffered-response.ts';
import { addClientHeaders, upstreamRequestHeaders } from '../upstream/forwarded-headers.ts';
import type { MintToken } from '../upstream/internal-token.ts';
import { undiciTransport, whicheverTurnItIs } from '../upstream/undici-transport.ts';
import type { Upstreams } from '../upstream/upstreams.ts';
import { callerOf } from './authenticate.ts';
import { peerAddress } from './request-context.ts';

interface ProxyToPetsDependencies {
  upstreams: Upstreams;
  dispatcher: Dispatcher;
  upstreamTimeoutMs: number;
  mintToken: MintToken;
  /** Whether an address belongs to one of our own proxies. */
  trustsPeer: (address: string, hop: number) => boolean;
}

/** Sends the request to the pets service, on the same path, in the caller's name. */
export function proxyToPets(dependencies: ProxyToPetsDependencies): RequestHandler {
  const { upstreamTimeoutMs: timeoutMs, mintToken, trustsPeer } = dependencies;
  const proxy = createProxyMiddleware<Request, Response>({
    target: whicheverTurnItIs,
    // What comes here has a route. A path would be looked over for wildcards at each request.
    pathFilter: () => true,
    plugins: [
      undiciTransport<Request, Response>({
        ...dependencies,
        timeoutMs,
        requestHeaders,
        requestBody: (res) => res.locals.body ?? null,
        responseHeaders,
        onSettled(res, ms) {
          res.locals.upstreamMs = ms;
        },
        checkResponse: checkAnswer,
      }),
    ],
    on: {
      // Without a listener of ours, the middleware would answer in plain text. The error handler answers.
      error: () => {},
    },
  });

  const authorizations = new WeakMap<Caller, { token: string; authorization: string }>();

  /** Put together once for each token: V8 copies text that is new before it sends it. */
  function authorizationOf(caller: Caller): string {
    const token = mintToken(caller);
    const known = authorizations.get(caller);
    if (known?.token === token) return known.authorization;
    const authorization = `Bearer ${token}`;
    authorizations.set(caller, { token, authorization });
    return authorization;
  }

  function requestHeaders(req: Request, res: Response): string[] {
    return upstreamRequestHeaders({
      rawHeaders: req.rawHeaders,
      peerAddress: peerAddress(req),
      peerIsTrusted: trustsPeer(peerAddress(req), 0),
      authorization: authorizationOf(callerOf(res.locals)),
      requestId: res.locals.requestId,
      hasBody: carriesBody(req),
    });
  }

  return function proxyToPets(req, res, next) {
    void proxy(req, res, next);
  };
}

function responseHeaders(res: Response, headers: UpstreamHeaders): ResponseHeaders {
  // A copy: should it turn out that the answer can't be sent, none of it belongs to the error that is.
  const answer = res.locals.headers.copy();
  addClientHeaders(answer, headers);
  return answer;
}

/**
 * An answer that the pets service could not mean for a client: it refused our own token, or did not answer in
 * JSON, as something between it and us might.
 */
function checkAnswer(status: number, headers: UpstreamHeaders): void {
  if (status > 599) {
    throw new GatewayError('upstream_error', { cause: `the upstream answered with status ${status}` });
  }
  if (status === 401) {
    throw new GatewayError('upstream_error', { cause: 'the upstream refused the internal token' });
  }
  const type = String(headers['content-type'] ?? '');
  if (withoutContent.has(status) || /^application\/json\b/i.test(type)) return;
  throw new GatewayError('upstream_error', { cause: `the upstream answered ${status} as "${type}"` });
}
