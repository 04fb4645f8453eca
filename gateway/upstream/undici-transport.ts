import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Plugin } from 'http-proxy-middleware';
import type { Dispatcher } from 'undici';
import { GatewayError } from '../errors.ts';
import { isSafe } from '../http/request-body.ts';
import { createAnswerTimer } from './answer-timer.ts';
import { isKeyed } from './forwarded-headers.ts';
import { PendingAnswer, type ResponseHeaders } from './pending-answer.ts';
import { isConnectionLoss, isUpstreamsFault, upstreamFault } from './upstream-fault.ts';
import type { Target } from './upstream-target.ts';
import type { Upstreams } from './upstreams.ts';

interface UndiciTransportOptions<Req extends IncomingMessage, Res extends ServerResponse> {
  dispatcher: Dispatcher;
  /** Their targets are what the middleware's router chooses from, with Upstreams.take. */
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
  /** Told how long the upstream took from having the request, whatever came of it. */
  onSettled: (res: Res, ms: number) => void;
  /** Throws where the upstream's answer is none that a client may see. */
  checkResponse: (status: number, headers: ResponseHeaders) => void;
}

/**
 * A request that was not sent at all goes from target to target, until one takes it or each was tried. One that was
 * sent is sent once more if it is a GET and lost its connection before there was an answer, as it does on one that the
 * upstream has just closed. A POST that the upstream may have seen is never sent again.
 */
const maxTimesSent = 2;

/**
 * Plugin for http-proxy-middleware that sends through undici in place of node:http, which is what most of a
 * proxied request costs otherwise. Matching, the choice of the target and events stay with the middleware.
 */
export function undiciTransport<Req extends IncomingMessage, Res extends ServerResponse>(
  options: UndiciTransportOptions<Req, Res>,
): Plugin<Req, Res> {
  return function undiciTransport(proxyServer) {
    proxyServer.web = async (req, res, proxyOptions) => {
      const target = options.upstreams.targets.find((known) => known === proxyOptions?.target);
      if (target === undefined) throw new Error('the target is none of the upstreams');
      proxyServer.emit('start', req, res, target);
      // Rejecting makes the middleware emit 'error' and pass the error on to the journey's error handler.
      await exchange(req, res, target, options);
    };
  };
}

/** One request and its answer. Rejects with what the client is to be told, if it can still be told. */
function exchange<Req extends IncomingMessage, Res extends ServerResponse>(
  req: Req,
  res: Res,
  firstTarget: Target,
  options: UndiciTransportOptions<Req, Res>,
): Promise<void> {
  const { dispatcher, upstreams, timeoutMs, requestHeaders, requestBody, onSettled, checkResponse } = options;
  const safe = isSafe(req);
  const headers = requestHeaders(req, res);
  const body = requestBody(res);
  const answer = new PendingAnswer(res);
  const answerTimer = createAnswerTimer(timeoutMs, () =>
    controller?.abort(new GatewayError('upstream_timeout', { cause: 'the answer took too long' })),
  );
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const tried = new Set<Target>();
  let target = firstTarget;
  /** Of the target, when the request was given to it. */
  let absences = 0;
  let controller: Dispatcher.DispatchController | undefined;
  let queueTimer: NodeJS.Timeout | undefined;
  let timesSent = 0;
  let settled = false;
  let sentAt: number | undefined;

  function settle(error?: GatewayError): void {
    settled = true;
    clearTimeout(queueTimer);
    answerTimer.stop();
    res.off('close', onClientGone);
    upstreams.release(target);
    if (sentAt !== undefined) onSettled(res, performance.now() - sentAt);
    if (error === undefined) resolve();
    else reject(error);
  }

  function onClientGone(): void {
    settle();
    controller?.abort(new Error('the client went away'));
  }

  function onQueueTimeout(): void {
    settle(
      new GatewayError('upstream_unavailable', {
        headers: { 'Retry-After': '1' },
        cause: 'no connection to the upstream became free',
      }),
    );
  }

  function send(): void {
    tried.add(target);
    clearTimeout(queueTimer);
    answerTimer.stop();
    controller = undefined;
    ({ absences } = target);
    const { origin } = target;
    // undici would close the connection after a HEAD, for servers that answer it with a body.
    const request = {
      origin,
      path: req.url ?? '/',
      method: req.method ?? 'GET',
      headers,
      body,
      reset: false,
    };
    const free = dispatcher.dispatch(request, handler);
    // Its own time limits begin when a request is sent, and this one may still be waiting for its turn.
    if (!free && controller === undefined && !settled) queueTimer = setTimeout(onQueueTimeout, timeoutMs);
  }

  /** Where the request can be sent once more without harm. It is in flight there already. */
  function nextTarget(error: unknown): Target | undefined {
    if (controller === undefined) return upstreams.take(tried);
    if (!safe || answer.begun || timesSent >= maxTimesSent || !isConnectionLoss(error)) return undefined;
    return upstreams.take(tried) ?? upstreams.take();
  }

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      clearTimeout(queueTimer);
      controller = started;
      timesSent += 1;
      sentAt = performance.now();
      if (settled) started.abort(new Error('nobody waits for the answer any more'));
      else answerTimer.start();
    },
    onResponseStart(_controller, status, responseHeaders) {
      if (status < 200) return;
      checkResponse(status, responseHeaders);
      answer.begin(status, responseHeaders);
    },
    onResponseData(started, chunk) {
      const more = answer.add(chunk);
      if (answer.passed) answerTimer.passed(chunk.length);
      if (more || res.destroyed) return;
      started.pause();
      answerTimer.clientWaits();
      res.once('drain', () => {
        if (!settled) answerTimer.clientReads();
        started.resume();
      });
    },
    onResponseEnd() {
      answer.end();
      upstreams.succeeded(target, absences);
      settle();
    },
    onResponseError(_controller, error) {
      if (settled) return;
      const blamed = isUpstreamsFault(error);
      if (blamed) upstreams.failed(target, absences, error);
      const next = blamed ? nextTarget(error) : undefined;
      if (next === undefined) return settle(upstreamFault(error, { safe, keyed: isKeyed(headers) }));
      upstreams.release(target);
      target = next;
      send();
    },
  };

  if (res.destroyed) {
    // The client went away while its key or its quota was looked up: nobody will tell us again.
    onClientGone();
    return promise;
  }
  // Before the listener of the access log, which is older.
  res.prependListener('close', onClientGone);
  send();
  return promise;
}
