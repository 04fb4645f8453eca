import { randomUUID } from 'node:crypto';
import { createServer, IncomingMessage, ServerResponse, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Express } from 'express';
import { GatewayError } from '../../errors.ts';
import { peerAddress } from './addresses.ts';
import {
  closeSlowReaders,
  createDrain,
  createIdleConnections,
  createPipelines,
  watchBody,
  type Drain,
  type Exchange,
} from './client-connections.ts';
import { limitConnections, type ConnectionDependencies, type ConnectionLimit } from './connection-limits.ts';
import { hasBody, raiseRequestError } from './request.ts';
import { helpLink, parserError, sendRawResponse, tooManyConnections } from './response.ts';

interface HttpServerOptions extends ConnectionDependencies {
  app: RequestListener;
  messageClasses: MessageClasses;
  /** Whether a request becomes a WebSocket; any other that asks for an upgrade is served as if it did not. */
  isUpgrade: (req: IncomingMessage) => boolean;
  /** Called when a stop closes what is open. */
  closeWebSockets: () => void;
  /** All methods of the API, for the response to CONNECT. */
  allow: () => readonly string[];
  /** Charges the address for something that became no request. @returns rate limit headers for the response to it */
  chargeAddress: (address: string, error: GatewayError) => Promise<Record<string, string>>;
  /** Called for each such response, which no step of the journey sees, with the client's address. */
  onRawResponse: (error: GatewayError, address: string, requestId: string) => void;
  /** Headers with which a page of an origin may read a response. */
  originHeaders: (origin: string | undefined) => Readonly<Record<string, string>>;
}

/**
 * Creates Node's HTTP server with its own bare responses replaced: a client gets the Error shape whether a step of the
 * journey or the HTTP parser refuses its request.
 */
export function createHttpServer(options: HttpServerOptions): { server: Server; drain: Drain } {
  const { app, allow, limits, chargeAddress, onRawResponse, originHeaders } = options;
  const failed = new WeakSet<Socket>();
  const idle = createIdleConnections();
  const pipelines = createPipelines(app, limits, idle);

  const { ServerResponse } = options.messageClasses;
  const server = createServer({
    ...options.messageClasses,
    shouldUpgradeCallback: options.isUpgrade,
    requireHostHeader: false,
    // A stream that nobody reads is a twentieth of a refused request.
    optimizeEmptyRequests: true,
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: Math.min(headersTimeoutMs, limits.requestTimeoutMs),
    // It would end large uploads.
    requestTimeout: 0,
    connectionsCheckingInterval: Math.min(1000, limits.requestTimeoutMs),
    keepAliveTimeout: limits.keepAliveTimeoutMs,
  });
  // Node would silently drop headers beyond its count, and its parser could use a Content-Length that no step sees.
  server.maxHeadersCount = 0;
  const refused = limitConnections(server, idle, options);
  const serve: RequestListener = (req, res) => {
    const limit = refused.get(req.socket);
    if (limit !== undefined) return refuseConnection(req, limit);
    if (hasBody(req)) {
      watchBody(req, limits.requestTimeoutMs, () =>
        failUnfinished({ req, res }, new GatewayError('request_timeout')),
      );
    }
    pipelines.serve(req, res);
  };
  // The journey decides on Host and Expect: a refused request gets no 100 Continue, and an unknown Expect no bare 417.
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, serve);
  closeSlowReaders(server, limits.responseTimeoutMs);

  server.on('clientError', (error: ParserError, socket: Socket) => {
    if (failed.has(socket)) return;
    failed.add(socket);
    const requestError = parserError(error);
    const request = { origin: originOf(error) };
    const last = pipelines.last(socket);
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
    } else if (last === undefined) {
      void respondRaw(socket, requestError, request);
    } else if (last.req.complete) {
      // The error is in what follows a request, whose own response goes first.
      pipelines.whenIdle(socket, () => void respondRaw(socket, requestError, request));
    } else {
      failUnfinished(last, requestError);
    }
  });

  server.on('upgrade', (req, socket: Socket, head) => {
    // Node has removed its listeners from the socket, as below.
    socket.on('error', () => {});
    if (head.length > 0) socket.unshift(head);
    pipelines.whenIdle(socket, () => {
      const res = new ServerResponse(req);
      res.assignSocket(socket);
      socket.on('drain', () => res.emit('drain'));
      res.on('finish', () => {
        if (res.statusCode !== 101) socket.destroySoon();
      });
      server.emit('request', req, res);
    });
  });

  server.on('connect', (_req, socket: Socket) => {
    // Node has removed its listeners from the socket. Without these, a reset would end the process, and a response
    // larger than the connection's buffer would wait forever.
    socket.on('error', () => {});
    socket.on('drain', () => pipelines.serving(socket)?.res.emit('drain'));
    if (failed.has(socket)) return;
    failed.add(socket);
    const headers = { Allow: allow().join(', ') };
    // Earlier requests may still wait for their responses.
    pipelines.whenIdle(
      socket,
      () => void respondRaw(socket, new GatewayError('method_not_allowed', { headers })),
    );
  });

  function refuseConnection({ socket, method, headers }: IncomingMessage, limit: ConnectionLimit): void {
    // Further requests of the connection get no response.
    if (failed.has(socket)) return;
    failed.add(socket);
    void respondRaw(socket, tooManyConnections(limit), { method, origin: headers.origin });
  }

  async function respondRaw(socket: Socket, error: GatewayError, request: RawRequest = {}): Promise<void> {
    const address = peerAddress({ socket });
    const requestId = randomUUID();
    onRawResponse(error, address, requestId);
    // The response matters more than its rate limit headers.
    const limitHeaders = await chargeAddress(address, error).catch(() => ({}));
    const headers = {
      'X-Request-Id': requestId,
      ...originHeaders(request.origin),
      Link: helpLink(error.code),
      ...limitHeaders,
    };
    if (socket.writable) sendRawResponse(socket, error, headers, request.method);
  }

  return { server, drain: createDrain(server, pipelines, options.closeWebSockets) };
}

/** What is known of a request that gets its response without the journey. */
interface RawRequest {
  method?: string | undefined;
  origin?: string | undefined;
}

interface ParserError extends NodeJS.ErrnoException {
  /** What the parser was given last. */
  rawPacket?: Buffer;
}

/** The Origin of a request that the parser refused, if it was in the last packet. */
function originOf({ rawPacket }: ParserError): string | undefined {
  return /^origin:[ \t]*([!-~]+)[ \t]*\r?$/im.exec(rawPacket?.toString('latin1') ?? '')?.[1];
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

/** Time for the headers of a request to arrive: a few packets, on the slowest network. */
const headersTimeoutMs = 10_000;

export type MessageClasses = ReturnType<typeof createMessageClasses>;

/**
 * Classes for Node's HTTP server, whose objects have the prototypes of the Express app from the start. Express otherwise
 * replaces the prototypes of each request and response, after which V8 looks up all their properties again: as much time
 * as half of the journey's steps.
 */
export function createMessageClasses(app: Express) {
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse<Request extends IncomingMessage> extends ServerResponse<Request> {}
  const prototypes = { request: ExpressRequest.prototype, response: ExpressResponse.prototype };
  Object.setPrototypeOf(prototypes.request, app.request);
  Object.setPrototypeOf(prototypes.response, app.response);
  Object.assign(app, prototypes);
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}
