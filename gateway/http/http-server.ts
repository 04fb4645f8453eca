import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from 'node:http';
import type { Socket } from 'node:net';
import type { HttpLimits } from '../config/config.ts';
import { GatewayError } from '../errors.ts';
import type { MessageClasses } from '../runtime/message-classes.ts';
import { limitConnections, type ConnectionLimit } from './connection-limits.ts';
import { helpLink } from './help-link.ts';
import type { CreateCounter } from './in-use-counters.ts';
import { createPipelines, type Exchange } from './pipelines.ts';
import { raiseRequestError } from './request-error.ts';
import { securityHeaders } from './security-headers.ts';
import { closeSlowReaders } from './slow-readers.ts';

interface HttpServerOptions {
  app: RequestListener;
  messageClasses: MessageClasses;
  /** All methods of the API, for the response to CONNECT. */
  allow: readonly string[];
  limits: HttpLimits;
  /** Connections that this process can have; `limits` are those of the whole gateway. */
  maxOwnConnections: number;
  createCounter: CreateCounter;
  /** Whether an address belongs to a trusted proxy. */
  isProxy: (address: string) => boolean;
  /** Charges the address for something that became no request. @returns rate limit headers for the response to it */
  chargeAddress: (address: string, error: GatewayError) => Promise<Record<string, string>>;
  /** Called for each such response, which no step of the journey sees, with the client's address. */
  onRawResponse: (error: GatewayError, address: string) => void;
  /** Called with the number of open connections of this process. */
  onOpenConnections: (count: number) => void;
  /** Called for each refused connection, with its address or IPv6 network. */
  onRefusedConnection: (limit: ConnectionLimit, group: string) => void;
}

const lingerMs = 1000;

/**
 * Creates Node's HTTP server with its own bare responses replaced: a client gets the Error shape whether a step of the
 * journey or the HTTP parser refuses its request.
 */
export function createHttpServer(options: HttpServerOptions): Server {
  const { app, allow, limits, chargeAddress, onRawResponse } = options;
  const { headersTimeoutMs, requestTimeoutMs } = limits;
  const failed = new WeakSet<Socket>();
  const pipelines = createPipelines(app, limits);

  const server = createServer({
    ...options.messageClasses,
    // Node would send a bare 400; rejectMalformed sends an Error.
    requireHostHeader: false,
    // A stream that nobody reads is a twentieth of a refused request.
    optimizeEmptyRequests: true,
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, headersTimeoutMs),
    keepAliveTimeout: limits.keepAliveTimeoutMs,
  });
  // Node would silently drop headers beyond its count, and its parser could use a Content-Length that no step sees.
  // rejectMalformed limits the number.
  server.maxHeadersCount = 0;
  // A client may end its side after the request, as `nc -N` does. Node by default would end the other side, too.
  Object.assign(server, { httpAllowHalfOpen: true });
  const limitOf = limitConnections(server, {
    ...limits,
    maxOwnConnections: options.maxOwnConnections,
    createCounter: options.createCounter,
    isProxy: options.isProxy,
    onOpen: options.onOpenConnections,
    onRefused: options.onRefusedConnection,
  });
  closeSlowReaders(server, limits.responseTimeoutMs);
  const serve: RequestListener = (req, res) => {
    const limit = limitOf(req.socket);
    if (limit === undefined) pipelines.serve(req, res);
    else refuseConnection(req, limit);
  };
  server.on('request', serve);
  // The journey decides on Expect, too: a refused request gets no 100 Continue.
  server.on('checkContinue', serve);
  server.on('checkExpectation', serve);

  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (failed.has(socket)) return;
    failed.add(socket);
    const requestError = parserError(error);
    const last = pipelines.last(socket);
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
    } else if (last === undefined) {
      void respondRaw(socket, requestError);
    } else if (last.req.complete) {
      // The error is in what follows a request, whose own response goes first.
      pipelines.whenIdle(socket, () => void respondRaw(socket, requestError));
    } else {
      failUnfinished(last, requestError);
    }
  });

  server.on('connect', (_req, socket: Socket) => {
    // Node has removed its listeners from the socket. Without these, a reset would end the process, and a response
    // larger than the connection's buffer would wait forever.
    socket.on('error', () => {});
    socket.on('drain', () => pipelines.serving(socket)?.res.emit('drain'));
    if (failed.has(socket)) return;
    failed.add(socket);
    const headers = { Allow: allow.join(', ') };
    // Earlier requests may still wait for their responses.
    pipelines.whenIdle(
      socket,
      () => void respondRaw(socket, new GatewayError('method_not_allowed', { headers })),
    );
  });

  function refuseConnection({ socket, method }: IncomingMessage, limit: ConnectionLimit): void {
    // Further requests of the connection get no response.
    if (failed.has(socket)) return;
    failed.add(socket);
    void respondRaw(socket, tooManyConnections(limit), method);
  }

  /** @param method of the request, if it became one */
  async function respondRaw(socket: Socket, error: GatewayError, method?: string): Promise<void> {
    const address = socket.remoteAddress ?? '';
    onRawResponse(error, address);
    // The response matters more than its rate limit headers.
    const headers = await chargeAddress(address, error).catch(() => ({}));
    if (!socket.writable) return;
    const body = JSON.stringify(error.body);
    const lines = Object.entries({
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': String(Buffer.byteLength(body)),
      Date: new Date().toUTCString(),
      Connection: 'close',
      ...securityHeaders,
      Link: helpLink(error.code),
      ...headers,
      ...error.headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(
      `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${method === 'HEAD' ? '' : body}`,
    );
    // The rest of what the client sends is read for a moment: a reset could destroy the response.
    socket.resume();
    setTimeout(() => socket.destroy(), lingerMs).unref();
  }

  return server;
}

/** Ends a request whose body is invalid or late. */
function failUnfinished({ req, res }: Exchange, error: GatewayError): void {
  if (res.writableFinished) {
    // A second response would be taken for that to the next request.
    req.socket.destroy();
  } else if (res.headersSent) {
    res.once('finish', () => req.socket.destroy());
  } else {
    res.shouldKeepAlive = false;
    raiseRequestError(req, error);
  }
}

function tooManyConnections(limit: ConnectionLimit): GatewayError {
  const headers = { 'Retry-After': '1' };
  switch (limit) {
    case 'total':
      return new GatewayError('service_unavailable', {
        message: 'The gateway has too many connections. Retry shortly.',
        headers,
      });
    case 'address':
      return new GatewayError('rate_limit_exceeded', {
        message: 'Too many connections from this address. Close some that are idle.',
        headers,
      });
  }
}

/** Translates an error of Node's parser or timers by its code. */
function parserError(error: NodeJS.ErrnoException): GatewayError {
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
