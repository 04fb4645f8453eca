import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Transform } from 'node:stream';
import type { Plugin } from 'http-proxy-middleware';
import type { Dispatcher } from 'undici';
import { GatewayError } from '../errors.ts';
import { isKeyed } from './forwarded-headers.ts';
import { awaitsContinue, countedBody, hasBody } from '../http/request-body.ts';
import { PendingAnswer, type ResponseHeaders, wholeAnswerBytes } from './pending-answer.ts';
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
  /** Told how long the upstream took from having the whole request, whatever came of it. */
  onSettled: (res: Res, ms: number) => void;
  /** Throws where the upstream's answer is none that a client may see. */
  checkResponse: (status: number, headers: ResponseHeaders) => void;
}

/**
 * A request that was not sent at all goes to another target; so does a GET that lost its connection before there was
 * an answer, as it does on one that the upstream has just closed, or once more to the same target where there is no
 * other. A POST that the upstream may have seen is never sent again.
 */
const maxAttempts = 2;

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
  const { dispatcher, upstreams, timeoutMs, requestHeaders, onSettled, checkResponse } = options;
  const method = req.method ?? 'GET';
  // A body has no meaning with GET and HEAD (RFC 9110 section 9.3.1): it is dropped and not passed on.
  const safe = method === 'GET' || method === 'HEAD';
  const body = takeBody(req, res, safe);
  const answer = new PendingAnswer(res);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let target = firstTarget;
  /** Of the target, when the request was given to it. */
  let absences = 0;
  let controller: Dispatcher.DispatchController | undefined;
  /** Of waiting for a connection, then for the answer. */
  let timer: NodeJS.Timeout | undefined;
  let attempts = 0;
  let settled = false;
  /** When the upstream had the request: sent, body included. */
  let sentAt: number | undefined;
  /** What was passed on since the timer was started. */
  let passedBytes = 0;
  let clientReads = true;

  function settle(error?: GatewayError): void {
    settled = true;
    clearTimeout(timer);
    res.off('close', onClientGone);
    upstreams.release(target);
    if (sentAt !== undefined) onSettled(res, performance.now() - sentAt);
    if (error === undefined) resolve();
    else reject(error);
  }

  function onClientGone(): void {
    settle();
    controller?.abort(new Error('the client went away'));
    body?.destroy();
  }

  function onQueueTimeout(): void {
    settle(
      new GatewayError('upstream_unavailable', {
        headers: { 'Retry-After': '1' },
        cause: 'no connection to the upstream became free',
      }),
    );
    body?.destroy();
  }

  /** The dispatcher's own limits are renewed by every interim answer and by every byte. */
  function onAnswerTimeout(): void {
    // A client that does not read is not the upstream's fault.
    if (!clientReads || passedBytes >= wholeAnswerBytes) startTimer();
    else controller?.abort(new GatewayError('upstream_timeout', { cause: 'the answer took too long' }));
  }

  function startTimer(): void {
    clearTimeout(timer);
    passedBytes = 0;
    timer = setTimeout(onAnswerTimeout, timeoutMs);
  }

  function send(): void {
    attempts += 1;
    clearTimeout(timer);
    controller = undefined;
    ({ absences } = target);
    const headers = requestHeaders(req, res);
    const { origin } = target;
    // undici would close the connection after a HEAD, for servers that answer it with a body.
    const request = { origin, path: req.url ?? '/', method, headers, body, reset: false };
    const free = dispatcher.dispatch(request, handler);
    // Its own time limits begin when a request is sent, and this one may still be waiting for its turn.
    if (!free && controller === undefined && !settled) timer = setTimeout(onQueueTimeout, timeoutMs);
  }

  /** Where the request can be sent once more without harm. It is in flight there already. */
  function nextTarget(error: unknown): Target | undefined {
    if (attempts >= maxAttempts) return undefined;
    if (controller === undefined) return upstreams.take(target);
    if (!safe || answer.begun || !isConnectionLoss(error)) return undefined;
    return upstreams.take(target) ?? upstreams.take();
  }

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      clearTimeout(timer);
      controller = started;
      sentAt = performance.now();
      if (settled) started.abort(new Error('nobody waits for the answer any more'));
      else if (body === null) startTimer();
    },
    onResponseStart(_controller, status, headers) {
      if (status < 200) return;
      checkResponse(status, headers);
      answer.begin(status, headers);
    },
    onResponseData(started, chunk) {
      const more = answer.add(chunk);
      if (answer.passed) passedBytes += chunk.length;
      if (more || res.destroyed) return;
      started.pause();
      clientReads = false;
      res.once('drain', () => {
        clientReads = true;
        if (!settled) startTimer();
        started.resume();
      });
    },
    onResponseEnd() {
      answer.end();
      upstreams.succeeded(target);
      settle();
    },
    onResponseError(_controller, error) {
      if (settled) return;
      const blamed = isUpstreamsFault(error);
      if (blamed) upstreams.failed(target, absences, error);
      const next = blamed ? nextTarget(error) : undefined;
      if (next === undefined)
        return settle(upstreamFault(error, { safe, keyed: isKeyed(requestHeaders(req, res)) }));
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
  body?.once('end', () => {
    if (settled) return;
    sentAt = performance.now();
    startTimer();
  });
  send();
  return promise;
}

/** The body to pass on, if any. What is not passed on is read and dropped, so that the connection stays usable. */
function takeBody(req: IncomingMessage, res: ServerResponse, dropped: boolean): Transform | null {
  if (dropped && hasBody(req) && awaitsContinue(req)) res.writeContinue();
  if (!dropped && hasBody(req)) return countedBody(req);
  req.resume();
  return null;
}
