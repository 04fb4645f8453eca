import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { createMessageClasses } from '#runtime/message-classes.ts';
import { normalizeTarget } from '#runtime/normalize-target.ts';
import type { Express } from 'express';
import type { HttpTimeouts } from '../config.ts';
import { PetsError, type ErrorCode } from '../errors.ts';
import { securityHeaders } from './security-headers.ts';

/** The most that the gateway accepts from its clients, 64 KiB, with room for what it adds. */
const maxHeaderBytes = 80 * 1024;
const lingerMs = 1000;

/** Creates Node's HTTP server with the bare responses of its parser replaced by Errors. */
export function createHttpServer(
  app: Express,
  { headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs }: HttpTimeouts,
): Server {
  const server = createServer({
    ...createMessageClasses(app),
    maxHeaderSize: maxHeaderBytes,
    keepAliveTimeout: keepAliveTimeoutMs,
    headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, headersTimeoutMs),
    // Node would send a bare 400; rejectMalformed sends an Error.
    requireHostHeader: false,
    // A stream that nobody reads is a measurable part of a request without a body.
    optimizeEmptyRequests: true,
  });
  // Node would silently drop headers beyond its count. rejectMalformed limits the number.
  server.maxHeadersCount = 0;
  // A caller may end its side after the request. Node by default would end the other side, too.
  Object.assign(server, { httpAllowHalfOpen: true });
  const unanswered = new WeakMap<Socket, ServerResponse[]>();
  const closing = new WeakSet<Socket>();
  function serve(req: IncomingMessage, res: ServerResponse): void {
    const { socket } = req;
    // Requests after one that closes the connection are not served (RFC 9112 section 9.6).
    if (closing.has(socket)) return;
    const ofSocket = unanswered.get(socket) ?? [];
    unanswered.set(socket, ofSocket);
    ofSocket.push(res);
    res.on('close', () => ofSocket.splice(ofSocket.indexOf(res), 1));
    // Node's parser drops what follows an Upgrade in the same read.
    if (req.headers.upgrade !== undefined) res.shouldKeepAlive = false;
    // Before Express, whose router reads the target first.
    normalizeTarget(req);
    app(req, res);
    if (!res.shouldKeepAlive) closing.add(socket);
  }
  server.on('request', serve);
  // The route that reads the body sends 100 Continue, so a refused request gets none.
  server.on('checkContinue', serve);
  // An unknown Expect may be ignored (RFC 9110 section 10.1.1); Node would send a bare 417.
  server.on('checkExpectation', serve);
  const refused = new WeakSet<Socket>();
  function refuse(socket: Socket, code: ErrorCode): void {
    if (refused.has(socket)) return;
    refused.add(socket);
    if (socket.writable && canRespond(unanswered.get(socket))) respondRaw(socket, code);
    else socket.destroy();
  }
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET') socket.destroy();
    else refuse(socket, parserErrorCode(error));
  });
  server.on('connect', (_req, socket: Socket) => {
    // Node has removed its listeners from the socket: a reset would end the process.
    socket.on('error', () => {});
    refuse(socket, 'method_not_allowed');
  });
  return server;
}

/** Whether no other response is due first, except that of the invalid request itself. */
function canRespond(unanswered: readonly ServerResponse[] = []): boolean {
  return unanswered.length < 2 && unanswered.every(({ req, headersSent }) => !req.complete && !headersSent);
}

function parserErrorCode({ code }: NodeJS.ErrnoException): ErrorCode {
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large';
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 'payload_too_large';
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'request_timeout' : 'bad_request';
}

function respondRaw(socket: Socket, code: ErrorCode): void {
  const error = new PetsError(code);
  const body = JSON.stringify(error.body);
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(securityHeaders).map(([name, value]) => `${name}: ${value}`),
    ...(code === 'method_not_allowed' ? ['Allow: GET, HEAD, POST, OPTIONS'] : []),
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  // The rest of what the caller sends is read for a moment: a reset could destroy the response.
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
