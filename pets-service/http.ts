import { randomUUID } from 'node:crypto';
import {
  createServer,
  STATUS_CODES,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { RequestHandler } from 'express';
import type { Config } from './config.ts';
import { PetsError, type ErrorCode } from './errors.ts';

type HttpSettings = Pick<Config, 'REQUEST_TIMEOUT_MS' | 'KEEP_ALIVE_TIMEOUT_MS'>;

/** Creates Node's HTTP server with the bare responses of its parser replaced by Errors. */
export function createHttpServer(serve: RequestListener, settings: HttpSettings): Server {
  // Longer than the gateway allows its clients, so that the gateway sends the 408.
  const requestTimeout = 2 * settings.REQUEST_TIMEOUT_MS;
  const server = createServer({
    requireHostHeader: false,
    // The most that the gateway accepts from its clients, 64 KiB, with room for what it adds.
    maxHeaderSize: 80 * 1024,
    // A few packets, on the slowest network.
    headersTimeout: Math.min(10_000, requestTimeout),
    requestTimeout,
    connectionsCheckingInterval: Math.min(1000, requestTimeout),
    keepAliveTimeout: settings.KEEP_ALIVE_TIMEOUT_MS,
  });
  const newest = new WeakMap<Socket, ServerResponse>();
  const accept: RequestListener = (req, res) => {
    // Requests after one that closes the connection are not served (RFC 9112 section 9.6).
    if (newest.get(req.socket)?.shouldKeepAlive === false) return;
    newest.set(req.socket, res);
    // Scheme and host of an absolute form are removed (RFC 9112 section 3.2.2). There is nothing at what is no path.
    const path = (req.url ?? '').replace(/^https?:\/\/[^/?#]*/i, '');
    req.url = path.startsWith('/') && !path.includes('#') ? path : '/';
    serve(req, res);
  };
  // A refused request gets no 100 Continue, and an unknown Expect no bare 417.
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, accept);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const res = newest.get(socket);
    // No other response may be due first, except that of the invalid request itself. Pipelined ones have no socket yet.
    const isDue = res === undefined || res.writableFinished;
    const isOwn = res?.socket === socket && !res.req.complete && !res.headersSent;
    if (socket.writable && (isDue || isOwn)) refuse(socket, parserErrors.get(error.code) ?? 'bad_request');
    else socket.destroy();
  });
  return server;
}

/** By the code of an error of Node's parser or timers. */
const parserErrors = new Map<string | undefined, ErrorCode>([
  ['HPE_HEADER_OVERFLOW', 'headers_too_large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', 'payload_too_large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', 'request_timeout'],
]);

/** Headers of every response: it must not be stored, and has the type that it says. The gateway sets its own. */
const securityHeaders = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };

/** Sends an Error for what became no request, and closes the connection. */
function refuse(socket: Socket, code: ErrorCode): void {
  const { body, status } = new PetsError(code);
  const text = JSON.stringify(body);
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    Connection: 'close',
    ...securityHeaders,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${text}`);
  // The rest of what the client sends is read for a while: a reset could destroy the response.
  socket.resume().setTimeout(1000, () => socket.destroy());
}

/** The form of the gateway's request ids. Anything else could be an attempt to write into the log. */
const wellFormedId = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * Keeps the X-Request-Id of a caller if it is well-formed and makes one otherwise, and sets the headers of every response.
 * @param isDraining whether connections are to be closed
 */
export function beginResponse(isDraining: () => boolean): RequestHandler {
  return function beginResponse(req, res, next) {
    const offered = req.headers['x-request-id'];
    res.locals.requestId = typeof offered === 'string' && wellFormedId.test(offered) ? offered : randomUUID();
    res.set({ 'X-Request-Id': res.locals.requestId, ...securityHeaders });
    if (isDraining()) res.shouldKeepAlive = false;
    next();
  };
}

/** Rejects what Node's parser accepts although other servers may find another end of the request, or another host. */
export function rejectMalformed(): RequestHandler {
  return function rejectMalformed({ httpVersion, headers, headersDistinct }, res, next) {
    const coding = headers['transfer-encoding']?.toLowerCase();
    const isFramed =
      httpVersion === '1.1'
        ? (coding ?? 'chunked') === 'chunked'
        : httpVersion === '1.0' && coding === undefined;
    // Exactly one Host, which HTTP/1.0 may omit (RFC 9112 section 3.2).
    const { host: hosts = httpVersion === '1.0' ? [''] : [] } = headersDistinct;
    if (isFramed && hosts.length === 1) return next();
    // No request after it is served: its beginning is uncertain (RFC 9112 section 11.2).
    res.shouldKeepAlive = false;
    throw new PetsError('bad_request');
  };
}
