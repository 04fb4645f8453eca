import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Transform } from 'node:stream';
import type { Plugin } from 'http-proxy-middleware';
import type { Dispatcher } from 'undici';
import { GatewayError } from '../errors.ts';
import { clientResponseHeaders } from './forwarded-headers.ts';
import { awaitsContinue, countedBody, hasBody } from '../http/request-body.ts';
import { isConnectionLoss, upstreamFault } from './upstream-fault.ts';

interface UndiciTransportOptions<Req extends IncomingMessage, Res extends ServerResponse> {
  dispatcher: Dispatcher;
  /** How long a request may wait for one of the dispatcher's connections. */
  queueTimeoutMs: number;
  /** Headers for the upstream, names and values in turn. */
  requestHeaders: (req: Req, res: Res) => string[];
  /** Told how long the upstream took from having the whole request, whatever came of it. */
  onSettled: (res: Res, ms: number) => void;
  /** Throws where the upstream's answer is none that a client may see. */
  checkResponse: (status: number, headers: ResponseHeaders) => void;
}

type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Answers up to this size are sent once they are whole, so that an upstream that dies half-way makes a clean 502. */
const wholeAnswerBytes = 64 * 1024;

/** A GET that meets a connection which the upstream has just closed is sent once more; a POST never is. */
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
      const origin = originOf(proxyOptions?.target);
      proxyServer.emit('start', req, res, origin);
      // Rejecting makes the middleware emit 'error' and pass the error on to the journey's error handler.
      await exchange(req, res, origin, options);
    };
  };
}

/** The origin of a target. There are few targets and many requests, so each is taken apart once. */
const origins = new Map<string, string>();

function originOf(target: unknown): string {
  if (typeof target !== 'string') throw new Error('the target is no URL');
  let origin = origins.get(target);
  if (origin === undefined) {
    ({ origin } = new URL(target));
    origins.set(target, origin);
  }
  return origin;
}

/** One request and its answer. Rejects with what the client is to be told, if it can still be told. */
function exchange<Req extends IncomingMessage, Res extends ServerResponse>(
  req: Req,
  res: Res,
  origin: string,
  options: UndiciTransportOptions<Req, Res>,
): Promise<void> {
  const { dispatcher, queueTimeoutMs, requestHeaders, onSettled, checkResponse } = options;
  const method = req.method ?? 'GET';
  // A body has no meaning with GET and HEAD (RFC 9110 section 9.3.1): it is dropped and not passed on.
  const safe = method === 'GET' || method === 'HEAD';
  const body = takeBody(req, res, safe);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let controller: Dispatcher.DispatchController | undefined;
  let queueTimer: NodeJS.Timeout | undefined;
  let attempts = 0;
  let settled = false;
  /** When the upstream had the request: sent, body included. */
  let sentAt: number | undefined;
  /** An answer that waits until it is whole. */
  let held: { status: number; headers: ResponseHeaders; chunks: Buffer[] } | undefined;

  function settle(error?: GatewayError): void {
    settled = true;
    clearTimeout(queueTimer);
    res.off('close', onClientGone);
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

  function send(): void {
    attempts += 1;
    controller = undefined;
    const headers = requestHeaders(req, res);
    // undici would close the connection after a HEAD, for servers that answer it with a body.
    const request = { origin, path: req.url ?? '/', method, headers, body, reset: false };
    const free = dispatcher.dispatch(request, answer);
    // Its own time limits begin when a request is sent, and this one may still be waiting for its turn.
    if (!free && controller === undefined && !settled)
      queueTimer = setTimeout(onQueueTimeout, queueTimeoutMs);
  }

  const answer: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      clearTimeout(queueTimer);
      controller = started;
      sentAt = performance.now();
      if (settled) started.abort(new Error('nobody waits for the answer any more'));
    },
    onResponseStart(_controller, status, headers) {
      if (status < 200) return;
      checkResponse(status, headers);
      if (Number(headers['content-length']) <= wholeAnswerBytes) {
        held = { status, headers, chunks: [] };
      } else {
        writeHead(res, status, headers);
        res.flushHeaders();
      }
    },
    onResponseData(started, chunk) {
      if (held !== undefined) {
        held.chunks.push(chunk);
      } else if (!res.write(chunk) && !res.destroyed) {
        started.pause();
        res.once('drain', () => started.resume());
      }
    },
    onResponseEnd() {
      if (held === undefined) {
        res.end();
      } else {
        writeHead(res, held.status, held.headers);
        res.end(held.chunks.length === 1 ? held.chunks[0] : Buffer.concat(held.chunks));
      }
      settle();
    },
    onResponseError(_controller, error) {
      if (settled) return;
      const nothingCame = held === undefined && !res.headersSent;
      if (safe && nothingCame && attempts < maxAttempts && isConnectionLoss(error)) send();
      else settle(upstreamFault(error, { safe }));
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
    sentAt = performance.now();
  });
  send();
  return promise;
}

/** The body to pass on, if any. What is not passed on is read and dropped, so that the connection stays usable. */
function takeBody(req: IncomingMessage, res: ServerResponse, dropped: boolean): Transform | null {
  if (hasBody(req) && awaitsContinue(req)) res.writeContinue();
  if (!dropped && hasBody(req)) return countedBody(req);
  req.resume();
  return null;
}

function writeHead(res: ServerResponse, status: number, headers: ResponseHeaders): void {
  res.statusCode = status;
  for (const [name, value] of Object.entries(clientResponseHeaders(headers))) res.setHeader(name, value);
}
