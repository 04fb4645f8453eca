import { createServer, STATUS_CODES, type RequestListener, type Server, type ServerOptions } from 'node:http';
import type { Socket } from 'node:net';
import type { HttpError } from './http-error.ts';

export interface HttpServerLimits {
  /** Bytes of a request's target and headers together. */
  maxHeaderBytes: number;
  /** Time for a request as a whole to arrive. */
  requestTimeoutMs: number;
  /** Time that a connection may stay open between two requests. */
  keepAliveTimeoutMs: number;
}

/** Time for the headers of a request to arrive: a few packets, on the slowest network. */
const headersTimeoutMs = 10_000;

/** Creates Node's HTTP server without its own bare responses to requests: the service decides on Host and Expect. */
export function createNodeServer(
  options: ServerOptions,
  { maxHeaderBytes, requestTimeoutMs, keepAliveTimeoutMs }: HttpServerLimits,
  serve: RequestListener,
): Server {
  const server = createServer({
    ...options,
    requireHostHeader: false,
    // A stream that nobody reads is a twentieth of a refused request.
    optimizeEmptyRequests: true,
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, requestTimeoutMs),
    keepAliveTimeout: keepAliveTimeoutMs,
  });
  // Node would silently drop headers beyond its count, and its parser could use a Content-Length that no step sees.
  server.maxHeadersCount = 0;
  // A client may end its side after the request, as `nc -N` does. Node by default would end the other side, too.
  Object.assign(server, { httpAllowHalfOpen: true });
  // A refused request gets no 100 Continue, and an unknown Expect no bare 417.
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, serve);
  return server;
}

/** Code of an error of Node's parser or timers. */
export function parserErrorCode({ code }: NodeJS.ErrnoException) {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return 'headers_too_large';
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return 'payload_too_large';
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'request_timeout';
    default:
      return 'bad_request';
  }
}

/** Time for which the rest of what the client sends is read: a reset could destroy the response. */
const lingerMs = 1000;

/**
 * Sends the response to what became no request, and closes the connection.
 * @param method of the request, if it became one
 */
export function sendRawError<Code extends string>(
  socket: Socket,
  error: HttpError<Code>,
  headers: Readonly<Record<string, string>>,
  method?: string,
): void {
  const body = JSON.stringify(error.body);
  const lines = Object.entries({
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    Date: new Date().toUTCString(),
    Connection: 'close',
    ...headers,
    ...error.headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${method === 'HEAD' ? '' : body}`,
  );
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
