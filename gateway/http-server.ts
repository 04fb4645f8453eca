import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import { GatewayError } from './errors.ts';
import type { RateLimitHeaders } from './rate-limit-headers.ts';
import { raiseRequestFault } from './request-fault.ts';

interface HttpServerOptions {
  app: (req: IncomingMessage, res: ServerResponse) => void;
  /** Time for the headers of a request to arrive. */
  headersTimeoutMs: number;
  /** Time for a request as a whole to arrive. */
  requestTimeoutMs: number;
  /** Rate headers for an answer to something that is no request yet. */
  addressHeaders: (address: string) => Promise<RateLimitHeaders>;
}

const keepAliveTimeoutMs = 65_000;
const maxHeaderBytes = 16 * 1024;
const lingerMs = 1000;

/**
 * Node's HTTP server with its own bare answers replaced, so that a client reads the same Error shape whether a
 * step of the journey or the HTTP parser refuses it.
 */
export function createHttpServer(options: HttpServerOptions): Server {
  const { app, headersTimeoutMs, requestTimeoutMs, addressHeaders } = options;
  const inFlight = new WeakMap<Socket, { req: IncomingMessage; res: ServerResponse }>();
  const refused = new WeakSet<Socket>();

  const server = createServer({
    // Without Host, Node answers a bare 400; rejectMalformed does better.
    requireHostHeader: false,
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, headersTimeoutMs),
    keepAliveTimeout: keepAliveTimeoutMs,
  });

  function serve(req: IncomingMessage, res: ServerResponse): void {
    const exchange = { req, res };
    inFlight.set(req.socket, exchange);
    res.on('close', () => {
      if (inFlight.get(req.socket) === exchange) inFlight.delete(req.socket);
    });
    app(req, res);
  }

  server.on('request', serve);
  // The journey decides on Expect too: a request that is refused never gets its 100 Continue.
  server.on('checkContinue', serve);
  server.on('checkExpectation', serve);

  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (refused.has(socket)) return;
    refused.add(socket);
    const fault = parserFault(error);
    const current = inFlight.get(socket);
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
    } else if (current === undefined) {
      void answerRaw(socket, fault);
    } else if (current.req.complete) {
      // The fault is in what follows a request that is still being answered: its answer goes first.
      current.res.once('close', () => void answerRaw(socket, fault));
    } else {
      failInFlight(current, fault);
    }
  });

  server.on('connect', (_req, socket: Socket) => {
    void answerRaw(
      socket,
      new GatewayError('method_not_allowed', { headers: { Allow: 'GET, HEAD, POST, OPTIONS' } }),
    );
  });

  async function answerRaw(socket: Socket, error: GatewayError): Promise<void> {
    // Should even these fail, the answer matters more.
    const headers = await addressHeaders(socket.remoteAddress ?? '').catch(() => ({}));
    if (!socket.writable) return;
    const body = JSON.stringify(error.body);
    const lines = Object.entries({
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': String(Buffer.byteLength(body)),
      Date: new Date().toUTCString(),
      Connection: 'close',
      ...headers,
      ...error.headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${body}`);
    // What the client is still sending is read for a moment, lest a reset destroys the answer.
    socket.resume();
    setTimeout(() => socket.destroy(), lingerMs).unref();
  }

  return server;
}

/** The body of a request that is being served is broken or late. */
function failInFlight(
  { req, res }: { req: IncomingMessage; res: ServerResponse },
  fault: GatewayError,
): void {
  if (res.writableEnded || res.headersSent) {
    // Answered already; only the rest of its body was awaited.
    if (res.writableFinished) req.socket.destroy();
    else res.once('finish', () => req.socket.destroy());
    return;
  }
  res.shouldKeepAlive = false;
  // Nobody may read the body yet, or ever: then the answer to come will end the connection.
  raiseRequestFault(req, fault);
}

/** What Node's parser and timers find, by the code of their error. */
function parserFault(error: NodeJS.ErrnoException): GatewayError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new GatewayError('headers_too_large');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new GatewayError('payload_too_large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new GatewayError('request_timeout');
    default:
      return new GatewayError('bad_request', { cause: error });
  }
}
