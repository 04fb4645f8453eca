import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Plugin } from 'http-proxy-middleware';
import type { Dispatcher } from 'undici';
import { GatewayError } from '../errors.ts';
import { isSafe } from '../http/request-body.ts';
import type { ResponseHeaders } from '../http/response-headers.ts';
import { PendingAnswer, wholeAnswerBytes, type UpstreamHeaders } from './buffered-response.ts';
import { isKeyed } from './forwarded-headers.ts';
import { AwaitedAnswer, createAnswerTimers, type AnswerTimers } from './response-timers.ts';
import type { Target } from './target.ts';
import { isConnectionLoss, isUpstreamsFault, upstreamFault } from './upstream-error.ts';
import type { Upstreams } from './upstreams.ts';

interface UndiciTransportOptions<Req extends IncomingMessage, Res extends ServerResponse> {
  dispatcher: Dispatcher;
  upstreams: Upstreams;
  /**
   * How long a request may wait for one of the dispatcher's connections; then, how long the upstream may take for its
   * answer, as far as that is kept back until it is whole, and for each part of what is passed on as it comes.
   */
  timeoutMs: number;
  /** Headers for the upstream, names and values in turn. */
  requestHeaders: (req: Req, res: Res) => string[];
  /** The body for the upstream, as a whole. */
  requestBody: (res: Res) => Buffer | null;
  /** Headers for the client, of those that the upstream answers with and what the gateway adds. */
  responseHeaders: (res: Res, headers: UpstreamHeaders) => ResponseHeaders;
  /** Told how long the upstream took from having the request, whatever came of it. */
  onSettled: (res: Res, ms: number) => void;
  /** Throws where the upstream's answer is none that a client may see. */
  checkResponse: (status: number, headers: UpstreamHeaders) => void;
}

/**
 * A request that was not sent at all goes from target to target, until one takes it or each was tried. One that was
 * sent is sent once more if it is a GET and lost its connection before there was an answer, as it does on one that the
 * upstream has just closed. A POST that the upstream may have seen is never sent again.
 */
const maxTimesSent = 2;

/**
 * For the middleware, which wants to know a target. No URL: it would parse that anew for each request, and where the
 * request goes is for the transport to choose.
 */
export const whicheverTurnItIs = { hostname: 'upstream' };

/**
 * Plugin for http-proxy-middleware that sends through undici in place of node:http, which is what most of a
 * proxied request costs otherwise, to the target whose turn it is. Matching and events stay with the middleware.
 */
export function undiciTransport<Req extends IncomingMessage, Res extends ServerResponse>(
  options: UndiciTransportOptions<Req, Res>,
): Plugin<Req, Res> {
  const timers = createAnswerTimers(options.timeoutMs);
  return function undiciTransport(proxyServer) {
    // Rejecting makes the middleware emit 'error' and pass the error on to the journey's error handler.
    proxyServer.web = (req, res) =>
      new Promise((resolve, reject) => {
        const target = options.upstreams.take();
        if (target === undefined) throw noneLeft();
        proxyServer.emit('start', req, res, target);
        new Exchange(options, timers, req, res, target, resolve, reject).begin();
      });
  };
}

/** Answered at once where no instance is left. No cause: the change was logged, this is not news. */
function noneLeft(): GatewayError {
  return new GatewayError('upstream_unavailable', { headers: { 'Retry-After': '1' } });
}

/** One request and its answer. Fails with what the client is to be told, if it can still be told. */
class Exchange<Req extends IncomingMessage, Res extends ServerResponse>
  extends AwaitedAnswer
  implements Dispatcher.DispatchHandler
{
  readonly #options: UndiciTransportOptions<Req, Res>;
  readonly #timers: AnswerTimers;
  readonly #req: Req;
  readonly #res: Res;
  readonly #succeed: () => void;
  readonly #fail: (error: GatewayError) => void;
  readonly #headers: string[];
  readonly #answer: PendingAnswer;
  #target: Target;
  /** Set once there is a second one. */
  #tried: Set<Target> | undefined;
  /** Of the target, when the request was given to it. */
  #absences = 0;
  #controller: Dispatcher.DispatchController | undefined;
  #queueTimer: NodeJS.Timeout | undefined;
  #timesSent = 0;
  #settled = false;
  #sentAt: number | undefined;
  /** Passed on to the client since the timer was started. */
  #passedBytes = 0;
  #clientReads = true;

  constructor(
    options: UndiciTransportOptions<Req, Res>,
    timers: AnswerTimers,
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
    this.#answer = new PendingAnswer(res, (headers) => options.responseHeaders(res, headers));
  }

  begin(): void {
    // While its key or its quota was looked up: nobody will tell us again.
    if (this.#res.destroyed) return this.#onClientGone();
    // Before the listener of the access log, which is older.
    this.#res.prependListener('close', () => {
      if (!this.#settled) this.#onClientGone();
    });
    this.#send();
  }

  #send(): void {
    const { dispatcher, requestBody, timeoutMs } = this.#options;
    clearTimeout(this.#queueTimer);
    this.#timers.stop(this);
    this.#controller = undefined;
    this.#absences = this.#target.absences;
    const request = {
      origin: this.#target.origin,
      path: this.#req.url ?? '/',
      method: this.#req.method ?? 'GET',
      headers: this.#headers,
      body: requestBody(this.#res),
      // undici would close the connection after a HEAD, for servers that answer it with a body.
      reset: false,
    };
    const free = dispatcher.dispatch(request, this);
    // Its time begins when a request is sent, and this one may still be waiting for its turn.
    if (!free && this.#controller === undefined && !this.#settled) {
      this.#queueTimer = setTimeout(() => this.#onQueueTimeout(), timeoutMs);
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    clearTimeout(this.#queueTimer);
    this.#controller = controller;
    this.#timesSent += 1;
    this.#sentAt = performance.now();
    if (this.#settled) controller.abort(new Error('nobody waits for the answer any more'));
    else this.#startTimer();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: UpstreamHeaders,
  ): void {
    if (status < 200) return;
    this.#options.checkResponse(status, headers);
    this.#answer.begin(status, headers);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const more = this.#answer.add(chunk);
    if (this.#answer.passed) this.#passedBytes += chunk.length;
    if (more || this.#res.destroyed) return;
    controller.pause();
    this.#clientReads = false;
    this.#res.once('drain', () => {
      this.#clientReads = true;
      if (!this.#settled) this.#startTimer();
      controller.resume();
    });
  }

  onResponseEnd(): void {
    this.#answer.end();
    this.#options.upstreams.succeeded(this.#target, this.#absences);
    this.#settle();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#settled) return;
    const blamed = isUpstreamsFault(error);
    if (blamed) this.#options.upstreams.failed(this.#target, this.#absences, error);
    const next = blamed ? this.#nextTarget(error) : undefined;
    if (next === undefined) {
      return this.#settle(upstreamFault(error, { safe: isSafe(this.#req), keyed: isKeyed(this.#headers) }));
    }
    this.#options.upstreams.release(this.#target);
    this.#target = next;
    this.#send();
  }

  /** Where the request can be sent once more without harm. It is in flight there already. */
  #nextTarget(error: unknown): Target | undefined {
    const { upstreams } = this.#options;
    this.#tried = (this.#tried ?? new Set()).add(this.#target);
    if (this.#controller === undefined) return upstreams.take(this.#tried);
    const again =
      isSafe(this.#req) && !this.#answer.begun && this.#timesSent < maxTimesSent && isConnectionLoss(error);
    return again ? (upstreams.take(this.#tried) ?? upstreams.take()) : undefined;
  }

  #startTimer(): void {
    this.#passedBytes = 0;
    this.#timers.start(this);
  }

  onTimeout(): boolean {
    // That the client does not read is not the upstream's fault.
    if (!this.#clientReads || this.#passedBytes >= wholeAnswerBytes) {
      this.#passedBytes = 0;
      return true;
    }
    this.#controller?.abort(new GatewayError('upstream_timeout', { cause: 'the answer took too long' }));
    return false;
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
    this.#settle();
    this.#controller?.abort(new Error('the client went away'));
  }

  #settle(error?: GatewayError): void {
    this.#settled = true;
    clearTimeout(this.#queueTimer);
    this.#timers.stop(this);
    this.#options.upstreams.release(this.#target);
    if (this.#sentAt !== undefined) this.#options.onSettled(this.#res, performance.now() - this.#sentAt);
    if (error === undefined) this.#succeed();
    else this.#fail(error);
  }
}
