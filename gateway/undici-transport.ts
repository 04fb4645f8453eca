import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Plugin } from 'http-proxy-middleware';
import type { Dispatcher } from 'undici';
import type { GatewayError } from './errors.ts';
import { clientResponseHeaders } from './forwarded-headers.ts';
import { countedBody, hasBody } from './request-body.ts';
import { isConnectionLoss, upstreamFault } from './upstream-fault.ts';

interface UndiciTransportOptions<Req extends IncomingMessage, Res extends ServerResponse> {
  dispatcher: Dispatcher;
  /** Headers for the upstream, names and values in turn. */
  requestHeaders: (req: Req, res: Res) => string[];
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
      const target = proxyOptions?.target;
      if (typeof target !== 'string' && !(target instanceof URL)) throw new Error('the target is no URL');
      const { origin } = new URL(target);
      proxyServer.emit('start', req, res, origin);
      // Rejecting makes the middleware emit 'error' and pass the error on to the journey's error handler.
      await exchange(req, res, origin, options);
    };
  };
}

/** One request and its answer. Rejects with what the client is to be told where nothing has been sent yet. */
function exchange<Req extends IncomingMessage, Res extends ServerResponse>(
  req: Req,
  res: Res,
  origin: string,
  { dispatcher, requestHeaders, checkResponse }: UndiciTransportOptions<Req, Res>,
): Promise<void> {
  const method = req.method ?? 'GET';
  // A body has no meaning with GET and HEAD (RFC 9110 section 9.3.1): it is dropped and not passed on.
  const safe = method === 'GET' || method === 'HEAD';
  if (hasBody(req) && req.headers.expect !== undefined) res.writeContinue();
  const body = !safe && hasBody(req) ? countedBody(req) : null;
  if (body === null) req.resume();

  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let attempts = 0;
    let settled = false;
    /** An answer that waits until it is whole. */
    let held: { status: number; headers: ResponseHeaders; chunks: Buffer[] } | undefined;

    function settle(error?: GatewayError): void {
      if (settled) return;
      settled = true;
      res.off('close', abort);
      if (error === undefined) return resolve();
      if (!res.headersSent) return reject(error);
      // The status is out already: cutting the connection is the only way left to say that this is not all.
      res.destroy(error);
      resolve();
    }

    function abort(): void {
      controller?.abort(new Error('the client went away'));
      body?.destroy();
      settle();
    }

    function writeHead(status: number, headers: ResponseHeaders): void {
      res.statusCode = status;
      for (const [name, value] of Object.entries(clientResponseHeaders(headers))) res.setHeader(name, value);
    }

    const answer: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        controller = started;
        if (settled) started.abort(new Error('the client went away'));
      },
      onResponseStart(_controller, status, headers) {
        if (status < 200) return;
        checkResponse(status, headers);
        if (Number(headers['content-length']) <= wholeAnswerBytes) {
          held = { status, headers, chunks: [] };
        } else {
          writeHead(status, headers);
          res.flushHeaders();
        }
      },
      onResponseData(started, chunk) {
        if (held !== undefined) {
          held.chunks.push(chunk);
        } else if (!res.write(chunk)) {
          started.pause();
          res.once('drain', () => started.resume());
        }
      },
      onResponseEnd() {
        if (held === undefined) {
          res.end();
        } else {
          writeHead(held.status, held.headers);
          res.end(held.chunks.length === 1 ? held.chunks[0] : Buffer.concat(held.chunks));
        }
        settle();
      },
      onResponseError(_controller, error) {
        const nothingCame = held === undefined && !res.headersSent;
        if (safe && nothingCame && attempts < maxAttempts && !settled && isConnectionLoss(error)) send();
        else settle(upstreamFault(error));
      },
    };

    function send(): void {
      attempts += 1;
      dispatcher.dispatch(
        {
          origin,
          path: req.url ?? '/',
          method,
          headers: requestHeaders(req, res),
          body,
          // undici would close the connection after a HEAD, for servers that answer it with a body.
          reset: false,
        },
        answer,
      );
    }

    res.on('close', abort);
    send();
  });
}
