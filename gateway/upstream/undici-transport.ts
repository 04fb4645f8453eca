import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Plugin } from 'http-proxy-middleware';
import type { Dispatcher } from 'undici';
import { GatewayError } from '../errors.ts';
import { isSafe } from '../http/request-body.ts';
import { BufferedResponse, type ResponseOptions, type UpstreamHeaders } from './buffered-response.ts';
import { hasIdempotencyKey } from './forwarded-headers.ts';
import { createResponseTimers, PendingResponse, type ResponseTimers } from './response-timers.ts';
import { countStreamed } from './streamed-garbage.ts';
import type { Target } from './target.ts';
import {
  DeadConnectionError,
  type UpstreamConnection,
  type UpstreamHandler,
} from './upstream-connections.ts';
import { isConnectionLost, isUpstreamFault, upstreamError } from './upstream-error.ts';
import type { Upstreams } from './upstreams.ts';

interface UndiciTransportOptions<
  Req extends IncomingMessage,
  Res extends ServerResponse,
> extends ResponseOptions<Res> {
  dispatcher: Dispatcher;
  upstreams: Upstreams;
  /**
   * Maximum time that a request waits for one of the dispatcher's connections; then the maximum time for a buffered
   * response, for the head of a streamed one, and between its chunks.
   */
  timeoutMs: number;
  /** Headers for the upstream, names and values in turn. */
  requestHeaders: (req: Req, res: Res) => string[];
  /** The complete body for the upstream. */
  requestBody: (res: Res) => Buffer | null;
  /** Called with the time from first sending the request to its outcome, whatever that is, and the response's status. */
  onSettled: (res: Res, ms: number, status: number | undefined) => void;
  /**
   * Starts the span of an attempt to send the request. Absent if no traces are exported.
   * @param timesSent how often the request was sent before
   */
  startAttempt?:
    ((req: Req, res: Res, target: Target, timesSent: number) => UpstreamAttempt | undefined) | undefined;
  /** @throws GatewayError if the upstream's response must not reach a client */
  checkResponse: (res: Res, status: number, headers: UpstreamHeaders) => void;
}

/** What the transport does with the span of an attempt. */
interface UpstreamAttempt {
  /** Further headers for the upstream: names and values in turn. */
  headers: readonly string[];
  end: (status: number | undefined, error?: unknown) => void;
}

/**
 * A request that was not sent goes from target to target until one accepts it. One that was sent is sent once more if it
 * is a GET whose connection was lost before the response, which happens when the upstream closes an idle connection, or
 * seems to be dead. A POST that the upstream may have seen is never sent again.
 */
const maxTimesSent = 2;

/**
 * Target for the middleware, which requires one; the transport chooses the real one. Not a URL, which the middleware
 * would parse for each request.
 */
export const placeholderTarget = { hostname: 'upstream' };

/** Sends a request and its response. Rejects with the error that the client gets, if it can still get one. */
export type Transport<Req, Res> = (req: Req, res: Res) => Promise<void>;

/**
 * Plugin for http-proxy-middleware that sends through undici. The middleware's own transport, node:http, is most of the
 * cost of a proxied request. Matching and errors stay with the middleware.
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

export function createTransport<Req extends IncomingMessage, Res extends ServerResponse>(
  options: UndiciTransportOptions<Req, Res>,
): Transport<Req, Res> {
  const timers = createResponseTimers(options.timeoutMs);
  return (req, res) =>
    new Promise((resolve, reject) => {
      const target = options.upstreams.take();
      if (target === undefined) throw noHealthyUpstream();
      new ProxiedRequest(options, timers, req, res, target, resolve, reject).begin();
    });
}

/** Has no cause: the ejection was logged, and is no news with each request. */
function noHealthyUpstream(): GatewayError {
  return new GatewayError('upstream_unavailable', { headers: { 'Retry-After': '1' } });
}

/** One request and its response. Fails with the error that the client gets, if it can still get one. */
class ProxiedRequest<Req extends IncomingMessage, Res extends ServerResponse>
  extends PendingResponse
  implements UpstreamHandler
{
  readonly #options: UndiciTransportOptions<Req, Res>;
  readonly #timers: ResponseTimers;
  readonly #req: Req;
  readonly #res: Res;
  readonly #succeed: () => void;
  readonly #fail: (error: GatewayError) => void;
  readonly #headers: string[];
  readonly #response: BufferedResponse<Res>;
  /** Set by the dispatcher when the request is given to a connection. */
  connection?: UpstreamConnection;
  #target: Target;
  /** Set when a second target is needed. */
  #tried: Set<Target> | undefined;
  /** Epoch of the target when the request was given to it. */
  #epoch = 0;
  #controller: Dispatcher.DispatchController | undefined;
  #queueTimer: NodeJS.Timeout | undefined;
  #timesSent = 0;
  #attempt: UpstreamAttempt | undefined;
  #settled = false;
  #firstSentAt: number | undefined;
  /** Time at which it was sent most recently. */
  #sentAt = 0;
  #clientReads = true;

  constructor(
    options: UndiciTransportOptions<Req, Res>,
    timers: ResponseTimers,
    req: Req,
    res: Res,
    target: Target,
    succeed: () => void,
    fail: (error: GatewayError) => void,
  ) {
    super();
    this.#options = options;
    this.#timers = timers;
    this.#req = req;
    this.#res = res;
    this.#target = target;
    this.#succeed = succeed;
    this.#fail = fail;
    this.#headers = options.requestHeaders(req, res);
    this.#response = new BufferedResponse(res, options);
  }

  begin(): void {
    // The client may have left during an earlier step, and no further event will say so.
    if (this.#res.destroyed) return this.#onClientGone();
    // Before the older listener of the access log.
    this.#res.prependListener('close', () => {
      if (!this.#settled) this.#onClientGone();
    });
    this.#send();
  }

  #send(): void {
    const { dispatcher, requestBody, timeoutMs, startAttempt } = this.#options;
    clearTimeout(this.#queueTimer);
    this.#controller = undefined;
    this.#epoch = this.#target.epoch;
    this.#attempt = startAttempt?.(this.#req, this.#res, this.#target, this.#timesSent);
    const request = {
      origin: this.#target.origin,
      path: this.#req.url ?? '/',
      method: this.#req.method ?? 'GET',
      headers: this.#attempt === undefined ? this.#headers : [...this.#headers, ...this.#attempt.headers],
      body: requestBody(this.#res),
      // undici would close the connection after a HEAD, for servers that send a body with it.
      reset: false,
    };
    const isFree = dispatcher.dispatch(request, this);
    // The response timer starts when the request is sent; this one may still wait for a connection.
    if (!isFree && this.#controller === undefined && !this.#settled) {
      this.#queueTimer = setTimeout(() => this.#onQueueTimeout(), timeoutMs);
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    clearTimeout(this.#queueTimer);
    this.#controller = controller;
    this.#timesSent += 1;
    this.#sentAt = performance.now();
    this.#firstSentAt ??= this.#sentAt;
    if (this.#settled) controller.abort(new Error('nobody waits for the response any more'));
    // A request that is sent again has no more time.
    else if (this.startedAtMs === undefined) this.#timers.start(this);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: UpstreamHeaders,
  ): void {
    this.connection?.onResponse();
    if (status < 200) return;
    this.#options.checkResponse(this.#res, status, headers);
    this.#response.start(status, headers);
    if (this.#response.streaming) this.#timers.start(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const more = this.#response.add(chunk);
    if (this.#response.streaming) {
      this.#timers.start(this);
      countStreamed(chunk.length);
    }
    if (more || this.#res.destroyed) return;
    controller.pause();
    this.#clientReads = false;
    this.#res.once('drain', () => {
      this.#clientReads = true;
      if (!this.#settled) this.#timers.start(this);
      controller.resume();
    });
  }

  onResponseEnd(): void {
    this.#response.end();
    this.#options.upstreams.succeeded(this.#target, this.#epoch, this.#sentAt);
    this.#settle();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#settled) return;
    this.#endAttempt(error);
    const isFault = isUpstreamFault(error);
    // That a connection is dead says nothing about the target: new connections to it work.
    if (isFault && !(error instanceof DeadConnectionError)) {
      const sentAt = this.#controller === undefined ? performance.now() : this.#sentAt;
      this.#options.upstreams.failed(this.#target, this.#epoch, sentAt, error);
    }
    const next = isFault ? this.#nextTarget(error) : undefined;
    if (next === undefined) {
      const retry = { safe: isSafe(this.#req), idempotent: hasIdempotencyKey(this.#headers) };
      return this.#settle(upstreamError(error, retry));
    }
    this.#options.upstreams.release(this.#target);
    this.#target = next;
    this.#send();
  }

  /** Target for another attempt, if the request can be sent again without harm. It counts as in flight there. */
  #nextTarget(error: unknown): Target | undefined {
    const { upstreams } = this.#options;
    this.#tried = (this.#tried ?? new Set()).add(this.#target);
    if (this.#controller === undefined) return upstreams.take(this.#tried);
    const canRetry =
      isSafe(this.#req) &&
      !this.#response.started &&
      this.#timesSent < maxTimesSent &&
      isConnectionLost(error);
    return canRetry ? (upstreams.take(this.#tried) ?? upstreams.take()) : undefined;
  }

  onTimeout(): boolean {
    // A client that does not read is not the upstream's fault.
    if (!this.#clientReads) return true;
    const error = new GatewayError('upstream_timeout', { cause: 'the response took too long' });
    if (this.#controller === undefined) this.#settle(error);
    else this.#controller.abort(error);
    return false;
  }

  onStall(): void {
    const { connection } = this;
    if (this.#controller === undefined || connection === undefined) return;
    if (this.#response.started || this.#timesSent >= maxTimesSent) return;
    // They may have vanished together with this one. If they have not, opening new ones costs little.
    connection.closeIdleSince(this.#sentAt);
    const newOnesWork = this.#target.readyAtMs > this.#sentAt;
    if (newOnesWork && isSafe(this.#req) && connection.seemsDeadSince(this.#sentAt)) {
      this.#controller.abort(new DeadConnectionError());
    }
  }

  #onQueueTimeout(): void {
    this.#settle(
      new GatewayError('upstream_unavailable', {
        headers: { 'Retry-After': '1' },
        cause: 'no connection to the upstream became free',
      }),
    );
  }

  #onClientGone(): void {
    this.#endAttempt('aborted');
    this.#settle();
    this.#controller?.abort(new Error('the client closed the connection'));
  }

  #endAttempt(error: Error | 'aborted' | undefined): void {
    this.#attempt?.end(this.#response.status, error);
    this.#attempt = undefined;
  }

  #settle(error?: GatewayError): void {
    this.#settled = true;
    clearTimeout(this.#queueTimer);
    this.#timers.stop(this);
    this.#options.upstreams.release(this.#target);
    this.#endAttempt(error);
    if (this.#firstSentAt !== undefined) {
      this.#options.onSettled(this.#res, performance.now() - this.#firstSentAt, this.#response.status);
    }
    if (error === undefined) this.#succeed();
    else this.#fail(error);
  }
}
