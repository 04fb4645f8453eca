import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable, type Duplex } from 'node:stream';
import { toError } from '#runtime/error-message.ts';
import type { Dispatcher } from 'undici';
import { GatewayError } from '../errors.ts';
import { isSafe } from '../platform/http/request.ts';
import { endOnceRead, endWithBody, helpLink } from '../platform/http/response.ts';
import { hasIdempotencyKey } from './headers.ts';
import type { Transport, TransportOptions, UpstreamAttempt, UpstreamHeaders } from './transport.ts';
import { errorCodeOf, isConnectionLost, isUpstreamFault, upstreamError } from './upstream-error.ts';
import type { Target } from './upstreams.ts';

/** Larger than a page of a hundred entries of a kilobyte each. */
export const maxCollectedBytes = 128 * 1024;

/**
 * A request that was not sent goes from target to target until one accepts it. One that was sent is sent once more if it
 * is a GET whose connection was lost before the response, which happens when the upstream closes an idle connection. A
 * POST that the upstream may have seen is never sent again.
 */
const maxTimesSent = 2;

/**
 * A request to a service and its response, as undici's handler. A small response whose length is known is collected until
 * it is complete: an upstream that breaks off leads to a clean 502, and a client that reads slowly occupies no connection
 * to the upstream. Any other is streamed. undici's timers end silence; what trickles without end is measured here.
 */
class Exchange<Req extends IncomingMessage, Res extends ServerResponse>
  implements Dispatcher.DispatchHandler
{
  readonly #options: TransportOptions<Req, Res>;
  readonly #req: Req;
  readonly #res: Res;
  readonly #done: (error?: GatewayError) => void;
  readonly #headers: string[];
  readonly #body: Buffer | Readable | null;
  readonly #upgrade: ((service: Duplex) => void) | undefined;
  #target: Target;
  /** Set when a second target is needed. */
  #tried: Set<Target> | undefined;
  /** Epoch of the target when the request was given to it. */
  #epoch = 0;
  /** Undefined while the request waits for a connection. */
  #controller: Dispatcher.DispatchController | undefined;
  #queueTimer: NodeJS.Timeout | undefined;
  /** Runs while a streamed body is sent: undici's own timers do not. */
  #bodyTimer: NodeJS.Timeout | undefined;
  /** Set while this is one of the streams of its caller. */
  #endStream: (() => void) | undefined;
  #timesSent = 0;
  #attempt: UpstreamAttempt | undefined;
  #settled = false;
  #firstSentAt: number | undefined;
  /** Time at which it was sent most recently. */
  #sentAt = 0;
  /** Time by which the head of the response, or the whole of a collected one, must be there: once the request is sent. */
  #dueAt = Infinity;
  #status: number | undefined;
  #responseHeaders: UpstreamHeaders = {};
  #chunks: Buffer[] = [];

  constructor(
    options: TransportOptions<Req, Res>,
    req: Req,
    res: Res,
    target: Target,
    done: (error?: GatewayError) => void,
  ) {
    this.#options = options;
    this.#req = req;
    this.#res = res;
    this.#target = target;
    this.#done = done;
    this.#headers = options.requestHeaders(req, res);
    this.#body = options.requestBody(res);
    this.#upgrade = options.upgrade?.(req, res);
  }

  begin(): void {
    // The client may have left during an earlier step, and no further event will say so.
    if (this.#res.destroyed) return this.#onClientGone();
    // Before the older listener of the access log.
    this.#res.prependListener('close', () => {
      if (!this.#settled) this.#onClientGone();
    });
    try {
      if (this.#body instanceof Readable) {
        // Too large, malformed or late: known while it is sent, or waits for a connection.
        this.#body.once('error', (error) => this.#abort(error));
        // Throws if the caller has too many.
        this.#endStream = this.#options.takeStream(this.#res);
      }
      this.#send();
    } catch (error) {
      this.#settle(toError(error));
    }
  }

  #send(): void {
    const { timeoutMs, startAttempt } = this.#options;
    clearTimeout(this.#queueTimer);
    this.#controller = undefined;
    this.#epoch = this.#target.epoch;
    this.#attempt = startAttempt?.(this.#req, this.#res, this.#target);
    const request = {
      path: this.#req.url ?? '/',
      method: this.#req.method ?? 'GET',
      headers: this.#attempt === undefined ? this.#headers : [...this.#headers, ...this.#attempt.headers],
      body: this.#body,
      upgrade: this.#upgrade === undefined ? null : 'websocket',
      // A request that is sent again has no more time.
      headersTimeout:
        this.#timesSent === 0 ? timeoutMs : Math.max(1, Math.min(timeoutMs, this.#dueAt - performance.now())),
      bodyTimeout: timeoutMs,
      // undici would close the connection after a HEAD or a DELETE with a body, for servers that misread these.
      reset: false,
    };
    const isFree = this.#target.pool.dispatch(request, this);
    // undici has no timeout for its queue.
    if (!isFree && this.#controller === undefined && !this.#settled) {
      this.#queueTimer = setTimeout(() => this.#onQueueTimeout(), timeoutMs);
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Drops the request. To abort it would close the connection.
    if (this.#settled) throw new Error('nobody waits for the response any more');
    clearTimeout(this.#queueTimer);
    this.#controller = controller;
    this.#timesSent += 1;
    this.#sentAt = performance.now();
    this.#firstSentAt ??= this.#sentAt;
    if (this.#body instanceof Readable)
      this.#bodyTimer = setTimeout(() => this.#onBodyTimeout(), this.#options.timeoutMs);
  }

  onBodySent(): void {
    this.#bodyTimer?.refresh();
  }

  onRequestSent(): void {
    clearTimeout(this.#bodyTimer);
    this.#dueAt = Math.min(this.#dueAt, performance.now() + this.#options.timeoutMs);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: UpstreamHeaders,
  ): void {
    this.#checkTime();
    if (status < 200) return;
    clearTimeout(this.#bodyTimer);
    this.#options.checkResponse(this.#req, status, headers);
    this.#status = status;
    this.#responseHeaders = headers;
    const hasContent = status !== 204 && status !== 304 && this.#req.method !== 'HEAD';
    if (!hasContent || Number(headers['content-length']) <= maxCollectedBytes) return;
    this.#endStream ??= this.#options.takeStream(this.#res);
    this.#writeHead();
    // flushHeaders() would send them as UTF-8, in which each octet above 0x7F becomes two.
    this.#res.write('', 'latin1');
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#res.headersSent) {
      this.#checkTime();
      this.#chunks.push(chunk);
      return;
    }
    if (this.#res.write(chunk) || this.#res.destroyed) return;
    controller.pause();
    this.#res.once('drain', () => controller.resume());
  }

  onResponseEnd(): void {
    if (this.#res.headersSent) {
      if (this.#isBodyArriving()) endOnceRead(this.#req, this.#res);
      else this.#res.end();
    } else this.#endCollected();
    this.#options.upstreams.succeeded(this.#target, this.#epoch, this.#sentAt);
    this.#settle();
  }

  /** Must not throw: undici would emit it as an event without a listener, which ends the process. */
  onRequestUpgrade(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: UpstreamHeaders,
    service: Duplex,
  ): void {
    this.#status = status;
    try {
      const response = this.#options.responseHeaders(this.#res, headers);
      response.setAll({ Connection: 'Upgrade', Upgrade: 'websocket' });
      this.#res.writeHead(status, response.toRaw());
      this.#res.end();
    } catch (error) {
      service.destroy();
      throw error;
    }
    this.#upgrade?.(service);
    this.#options.upstreams.succeeded(this.#target, this.#epoch, this.#sentAt);
    this.#settle();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#settled) return;
    try {
      this.#retryOrSettle(error);
    } catch (thrown) {
      this.#settle(toError(thrown));
    }
  }

  #retryOrSettle(error: Error): void {
    this.#endAttempt(error);
    const isFault = isUpstreamFault(error);
    // An instance may close the connection to refuse an upload: anybody's uploads could eject it for all.
    const isRefusal = this.#isSending() && isConnectionLost(error);
    if (isFault && !isRefusal) {
      const sentAt = this.#controller === undefined ? performance.now() : this.#sentAt;
      this.#options.upstreams.failed(this.#target, this.#epoch, sentAt, error);
    }
    const next = isFault ? this.#nextTarget(error) : undefined;
    if (next === undefined) return this.#settle(error);
    this.#options.upstreams.release(this.#target);
    this.#target = next;
    this.#send();
  }

  /** Whether a streamed body is on its way: any other is sent at once. */
  #isSending(): boolean {
    return this.#controller !== undefined && this.#dueAt === Infinity;
  }

  /** Target for another attempt, if the request can be sent again without harm. It counts as in flight there. */
  #nextTarget(error: unknown): Target | undefined {
    const { upstreams } = this.#options;
    this.#tried = (this.#tried ?? new Set()).add(this.#target);
    if (this.#controller === undefined) return upstreams.take(this.#tried);
    const canRetry =
      isSafe(this.#req) &&
      !(this.#body instanceof Readable) &&
      this.#status === undefined &&
      this.#timesSent < maxTimesSent &&
      isConnectionLost(error);
    return canRetry ? (upstreams.take(this.#tried) ?? upstreams.take()) : undefined;
  }

  /** undici's timers begin anew with each interim response and each part of the body. */
  #checkTime(): void {
    if (performance.now() > this.#dueAt) throw timedOut('the response took too long');
  }

  #onQueueTimeout(): void {
    const cause = 'no connection to the upstream became free';
    this.#settle(new GatewayError('upstream_unavailable', { headers: { 'Retry-After': '1' }, cause }));
  }

  /** A body that waits for its client has nothing to send. */
  #onBodyTimeout(): void {
    if (this.#body instanceof Readable && this.#body.readableLength === 0) this.#bodyTimer?.refresh();
    else this.#abort(timedOut('the upstream did not read the request'));
  }

  #onClientGone(): void {
    this.#settle('aborted');
    this.#controller?.abort(new Error('the client closed the connection'));
  }

  #abort(error: Error): void {
    if (this.#settled) return;
    if (this.#controller === undefined) this.#settle(error);
    else this.#controller.abort(error);
  }

  /** Whether the client is still sending the request's body, which the service did not wait for. */
  #isBodyArriving(): boolean {
    return this.#body instanceof Readable && !this.#req.complete;
  }

  #writeHead(): void {
    if (this.#isBodyArriving()) this.#res.shouldKeepAlive = false;
    // A 204 has no length (RFC 9110 section 8.6).
    const headers =
      this.#status === 204
        ? { ...this.#responseHeaders, 'content-length': undefined }
        : this.#responseHeaders;
    const raw = this.#options.responseHeaders(this.#res, headers).toRaw();
    try {
      this.#res.writeHead(this.#status ?? 502, raw);
    } catch (error) {
      // After these, Node would send the headers of an error response without its body.
      if (this.#status === 204 || this.#status === 304) this.#res.destroy();
      throw error;
    }
  }

  #endCollected(): void {
    const [first] = this.#chunks;
    const body = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    if ((this.#status ?? 0) >= 400) this.#explain(errorCodeOf(body));
    this.#writeHead();
    if (this.#isBodyArriving()) {
      this.#res.write(body);
      endOnceRead(this.#req, this.#res);
    } else endWithBody(this.#res, body);
  }

  #explain(code: string | undefined): void {
    if (code !== undefined) this.#options.onErrorCode(this.#res, code);
    // The response to HEAD does not hold its code: the link leads to all of them.
    const anchor = code ?? (this.#req.method === 'HEAD' ? 'errors' : undefined);
    if (anchor === undefined) return;
    // With those of the service, so that all become absolute in one way.
    const { link = [] } = this.#responseHeaders;
    this.#responseHeaders = { ...this.#responseHeaders, link: [link, helpLink(anchor)].flat().join(', ') };
  }

  #endAttempt(error: Error | 'aborted' | undefined): void {
    const attempt = this.#attempt;
    this.#attempt = undefined;
    attempt?.end(this.#status, error);
  }

  /** Never throws: it runs in listeners and timers, too, where nobody catches. */
  #settle(outcome?: Error | 'aborted'): void {
    this.#settled = true;
    clearTimeout(this.#queueTimer);
    clearTimeout(this.#bodyTimer);
    this.#endStream?.();
    this.#options.upstreams.release(this.#target);
    let error = outcome === 'aborted' ? undefined : outcome;
    try {
      this.#endAttempt(outcome);
      if (this.#firstSentAt !== undefined)
        this.#options.onSettled(this.#res, performance.now() - this.#firstSentAt, this.#status);
    } catch (thrown) {
      error ??= toError(thrown);
    }
    if (error === undefined) return this.#done();
    const isHarmless = isSafe(this.#req) || this.#firstSentAt === undefined;
    const takesKey = this.#options.takesIdempotencyKey?.(this.#req, this.#res) === true;
    const idempotent = takesKey ? hasIdempotencyKey(this.#headers) : undefined;
    this.#done(upstreamError(error, { safe: isHarmless, idempotent }));
  }
}

export function createTransport<Req extends IncomingMessage, Res extends ServerResponse>(
  options: TransportOptions<Req, Res>,
): Transport<Req, Res> {
  return (req, res) =>
    new Promise((resolve, reject) => {
      const target = options.upstreams.take();
      // Has no cause: the ejection was logged, and is no news with each request.
      if (target === undefined)
        throw new GatewayError('upstream_unavailable', { headers: { 'Retry-After': '1' } });
      new Exchange(options, req, res, target, (error) =>
        error === undefined ? resolve() : reject(error),
      ).begin();
    });
}

const timedOut = (cause: string) => new GatewayError('upstream_timeout', { cause });
