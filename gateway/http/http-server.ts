import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from 'node:http';
import type { Socket } from 'node:net';
import { GatewayError } from '../errors.ts';
import type { RateLimitHeaders } from '../quota/rate-limit-headers.ts';
import { limitConnections, type ConnectionLimit } from './connection-limits.ts';
import type { MakeCounts } from './in-use-counters.ts';
import type { MessageClasses } from './message-classes.ts';
import { createPipelines, type Exchange } from './pipelines.ts';
import { raiseRequestFault } from './request-error.ts';
import { securityHeaders } from './security-headers.ts';
import { cutOffSlowReaders } from './slow-readers.ts';

/** What one client may take of the server. */
export interface HttpLimits {
  /** Names and values of a request's headers and its target, all together. */
  maxHeaderBytes: number;
  /** Time for the headers of a request to arrive. */
  headersTimeoutMs: number;
  /** Time for a request as a whole to arrive. */
  requestTimeoutMs: number;
  /** Time for an answer to be read. */
  responseTimeoutMs: number;
  /** Time that a connection may stay open between two requests. */
  keepAliveTimeoutMs: number;
  maxRequestsPerConnection: number;
  maxConnections: number;
  maxConnectionsPerAddress: number;
}

interface HttpServerOptions {
  app: RequestListener;
  messageClasses: MessageClasses;
  /** Methods that there are somewhere, for the answer to CONNECT. */
  allow: readonly string[];
  limits: HttpLimits;
  /** Connections that this process can have, however many `limits` allow the whole gateway. */
  maxOwnConnections: number;
  makeCounts: MakeCounts;
  /** Whether an address is that of one of our own proxies. */
  isProxy: (address: string) => boolean;
  /** Rate headers for an answer to something that is no request yet; draws on the limit of the address. */
  chargeAddress: (address: string) => Promise<RateLimitHeaders>;
  /** Told of each such answer, which no step of the journey sees, and of the address it goes to. */
  onRawAnswer: (error: GatewayError, address: string) => void;
  /** Told how many connections of this process are open. */
  onOpenConnections: (count: number) => void;
  /** Told of each connection that is refused, and of the address or IPv6 network it was from. */
  onRefusedConnection: (limit: ConnectionLimit, group: string) => void;
}

const lingerMs = 1000;

/**
 * Node's HTTP server with its own bare answers replaced, so that a client reads the same Error shape whether a
 * step of the journey or the HTTP parser refuses it.
 */
export function createHttpServer(options: HttpServerOptions): Server {
  const { app, allow, limits, chargeAddress, onRawAnswer } = options;
  const { headersTimeoutMs, requestTimeoutMs } = limits;
  const failed = new WeakSet<Socket>();
  const pipelines = createPipelines(app, limits);

  const server = createServer({
    ...options.messageClasses,
    // Without Host, Node answers a bare 400; rejectMalformed does better.
    requireHostHeader: false,
    // Most requests have no body, and the life of a stream that nobody reads is one of the dearer parts of a request.
    optimizeEmptyRequests: true,
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, headersTimeoutMs),
    keepAliveTimeout: limits.keepAliveTimeoutMs,
  });
  // Node would leave out what is beyond its count without a word: its parser might go by a Content-Length that no
  // step of the journey sees. The number is limited by rejectMalformed.
  server.maxHeadersCount = 0;
  const limitOf = limitConnections(server, {
    ...limits,
    maxOwnConnections: options.maxOwnConnections,
    makeCounts: options.makeCounts,
    isProxy: options.isProxy,
    onOpen: options.onOpenConnections,
    onRefused: options.onRefusedConnection,
  });
  cutOffSlowReaders(server, limits.responseTimeoutMs);
  const serve: RequestListener = (req, res) => {
    const limit = limitOf(req.socket);
    if (limit === undefined) pipelines.serve(req, res);
    else refuseConnection(req, limit);
  };
  server.on('request', serve);
  // The journey decides on Expect too: a request that is refused never gets its 100 Continue.
  server.on('checkContinue', serve);
  server.on('checkExpectation', serve);

  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (failed.has(socket)) return;
    failed.add(socket);
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
    // Node has taken all its listeners away: a reset would end the process, and the answer that is being sent would
    // wait for ever once it is too large for the connection's buffer.
    socket.on('error', () => {});
    socket.on('drain', () => pipelines.serving(socket)?.res.emit('drain'));
    if (failed.has(socket)) return;
    failed.add(socket);
    const headers = { Allow: allow.join(', ') };
    // Requests before it may still be waiting for their answers.
    pipelines.whenIdle(
      socket,
      () => void answerRaw(socket, new GatewayError('method_not_allowed', { headers })),
    );
  });

  function refuseConnection({ socket, method }: IncomingMessage, limit: ConnectionLimit): void {
    // Further requests of the connection are not answered.
    if (failed.has(socket)) return;
    failed.add(socket);
    void answerRaw(socket, tooManyConnections(limit), method);
  }

  /** @param method of the request, where it became one */
  async function answerRaw(socket: Socket, error: GatewayError, method?: string): Promise<void> {
    const address = socket.remoteAddress ?? '';
    onRawAnswer(error, address);
    // Should even these fail, the answer matters more.
    const headers = await chargeAddress(address).catch(() => ({}));
    if (!socket.writable) return;
    const body = JSON.stringify(error.body);
    const lines = Object.entries({
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': String(Buffer.byteLength(body)),
      Date: new Date().toUTCString(),
      Connection: 'close',
      ...securityHeaders,
      ...headers,
      ...error.headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(
      `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${method === 'HEAD' ? '' : body}`,
    );
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

function tooManyConnections(limit: ConnectionLimit): GatewayError {
  const headers = { 'Retry-After': '1' };
  switch (limit) {
    case 'total':
      return new GatewayError('service_unavailable', {
        message: 'The gateway has no connection to spare. Retry shortly.',
        headers,
      });
    case 'address':
      return new GatewayError('rate_limit_exceeded', {
        message: 'Too many connections from this address. Close some that are idle.',
        headers,
      });
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
