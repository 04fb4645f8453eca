import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import type { Plugin } from 'http-proxy-middleware';
import type { Dispatcher } from 'undici';
import type { ResponseHeaders } from '../platform/http/response.ts';
import type { Target } from './target.ts';
import type { Upstreams } from './upstreams.ts';

export type UpstreamHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface TransportOptions<Req extends IncomingMessage, Res extends ServerResponse> {
  dispatcher: Dispatcher;
  upstreams: Upstreams;
  /**
   * Maximum time that a request waits for one of the dispatcher's connections; then the maximum time for the head of the
   * response, for the whole of one that is collected, and between the chunks of one that is streamed.
   */
  timeoutMs: number;
  /** Headers for the upstream, names and values in turn. */
  requestHeaders: (req: Req, res: Res) => string[];
  /** The body for the upstream: complete, or a stream of one that is still arriving. */
  requestBody: (res: Res) => Buffer | Readable | null;
  /** Counts a stream of the caller. @returns a function that undoes it @throws GatewayError if the caller has too many */
  takeStream: (res: Res) => () => void;
  /** What takes the connection to the service over, if the request becomes a WebSocket. */
  upgrade?: (req: Req, res: Res) => ((service: Duplex) => void) | undefined;
  /** Headers for the client, from those of the upstream and of the gateway. */
  responseHeaders: (res: Res, headers: UpstreamHeaders) => ResponseHeaders;
  /** Called with the code that an error of the service names. */
  onErrorCode: (res: Res, code: string) => void;
  /** Called with the time from first sending the request to its outcome, whatever that is, and the response's status. */
  onSettled: (res: Res, ms: number, status: number | undefined) => void;
  /**
   * Starts the span of an attempt to send the request. Absent if no traces are exported.
   * @param timesSent how often the request was sent before
   */
  startAttempt?:
    ((req: Req, res: Res, target: Target, timesSent: number) => UpstreamAttempt | undefined) | undefined;
  /** @throws GatewayError if the upstream's response must not reach a client */
  checkResponse: (req: Req, status: number, headers: UpstreamHeaders) => void;
}

/** What the transport does with the span of an attempt. */
export interface UpstreamAttempt {
  /** Further headers for the upstream: names and values in turn. */
  headers: readonly string[];
  end: (status: number | undefined, error?: unknown) => void;
}

/**
 * Target for the middleware, which requires one; the transport chooses the real one. Not a URL, which the middleware
 * would parse for each request.
 */
export const placeholderTarget = { hostname: 'upstream' };

/** Sends a request and its response. Rejects with the error that the client gets, if it can still get one. */
export type Transport<Req, Res> = (req: Req, res: Res) => Promise<void>;

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
