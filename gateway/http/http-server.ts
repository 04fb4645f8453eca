import { createServer, type RequestListener, type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { GatewayError } from '../errors.ts';
import { createPipelines, type Exchange } from './pipelines.ts';
import type { RateLimitHeaders } from '../quota/rate-limit-headers.ts';
import { raiseRequestFault } from './request-fault.ts';

interface HttpServerOptions {
  app: RequestListener;
  /** Methods that there are somewhere, for the answer to CONNECT. */
  allow: readonly string[];
  /** Time for the headers of a request to arrive. */
  headersTimeoutMs: number;
  /** Time for a request as a whole to arrive. */
  requestTimeoutMs: number;
  /** Rate headers for an answer to something that is no request yet; draws on the limit of the address. */
  chargeAddress: (address: string) => Promise<RateLimitHeaders>;
  /** Told of each such answer, which no step of the journey sees. */
  onRawAnswer: (error: GatewayError) => void;
}

const keepAliveTimeoutMs = 65_000;
const maxHeaderBytes = 16 * 1024;
const lingerMs = 1000;

/**
 * Node's HTTP server with its own bare answers replaced, so that a client reads the same Error shape whether a
 * step of the journey or the HTTP parser refuses it.
 */
export function createHttpServer(options: HttpServerOptions): Server {
  const { app, allow, headersTimeoutMs, requestTimeoutMs, chargeAddress, onRawAnswer } = options;
  const refused = new WeakSet<Socket>();
  const pipelines = createPipelines(app);

  const server = createServer({
    // Without Host, Node answers a bare 400; rejectMalformed does better.
    requireHostHeader: false,
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, headersTimeoutMs),
    keepAliveTimeout: keepAliveTimeoutMs,
  });
  server.on('request', pipelines.serve);
  // The journey decides on Expect too: a request that is refused never gets its 100 Continue.
  server.on('checkContinue', pipelines.serve);
  server.on('checkExpectation', pipelines.serve);

  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (refused.has(socket)) return;
    refused.add(socket);
    const fault = parserFault(error);
    const last = pipelines.last(socket);
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
    } else if (last === undefined) {
      void answerRaw(socket, fault);
    } else if (last.req.complete) {
      // The fault is in what follows a request: where that is still being answered, its answer goes first.
      pipelines.whenIdle(socket, () => void answerRaw(socket, fault));
    } else {
      failUnfinished(last, fault);
    }
  });

  server.on('connect', (_req, socket: Socket) => {
    void answerRaw(socket, new GatewayError('method_not_allowed', { headers: { Allow: allow.join(', ') } }));
  });

  async function answerRaw(socket: Socket, error: GatewayError): Promise<void> {
    onRawAnswer(error);
    // Should even these fail, the answer matters more.
    const headers = await chargeAddress(socket.remoteAddress ?? '').catch(() => ({}));
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

/** The body of a request is broken or late. */
function failUnfinished({ req, res }: Exchange, fault: GatewayError): void {
  if (res.writableFinished) {
    // Answered already: a second answer would be taken for that to the next request.
    req.socket.destroy();
  } else if (res.headersSent) {
    res.once('finish', () => req.socket.destroy());
  } else {
    res.shouldKeepAlive = false;
    raiseRequestFault(req, fault);
  }
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
