import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { PetsError, type ErrorCode } from '../errors.ts';
import type { MessageClasses } from './message-classes.ts';
import { normalizeTarget } from './normalize-target.ts';
import { securityHeaders } from './security-headers.ts';

export interface HttpTimeouts {
  headersTimeoutMs: number;
  requestTimeoutMs: number;
  keepAliveTimeoutMs: number;
}

/** The most that the gateway accepts from its clients, 64 KiB, and room for what it adds. */
const maxHeaderBytes = 80 * 1024;
const lingerMs = 1000;

/** Node's HTTP server, with what its parser refuses answered in the Error shape too. */
export function createHttpServer(
  app: (req: IncomingMessage, res: ServerResponse) => void,
  messageClasses: MessageClasses['classes'],
  { headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs }: HttpTimeouts,
): Server {
  const server = createServer({
    ...messageClasses,
    maxHeaderSize: maxHeaderBytes,
    keepAliveTimeout: keepAliveTimeoutMs,
    headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, headersTimeoutMs),
    // Without Host, Node answers a bare 400; rejectMalformed does better.
    requireHostHeader: false,
    // Nobody reads the stream that a request without a body has, and it is one of the dearer parts of such a request.
    optimizeEmptyRequests: true,
  });
  // Node would leave out what is beyond its count without a word. The number is limited by rejectMalformed.
  server.maxHeadersCount = 0;
  const unanswered = new WeakMap<Socket, ServerResponse[]>();
  const closing = new WeakSet<Socket>();
  function serve(req: IncomingMessage, res: ServerResponse): void {
    const { socket } = req;
    // What follows a request that closes the connection is not served (RFC 9112 section 9.6).
    if (closing.has(socket)) return;
    const ofSocket = unanswered.get(socket) ?? [];
    unanswered.set(socket, ofSocket);
    ofSocket.push(res);
    res.on('close', () => ofSocket.splice(ofSocket.indexOf(res), 1));
    // Before Express, whose router takes down the target at the start.
    normalizeTarget(req);
    app(req, res);
    if (!res.shouldKeepAlive) closing.add(socket);
  }
  server.on('request', serve);
  // Whoever reads the body says that it may be sent: a request that is refused never gets its 100 Continue.
  server.on('checkContinue', serve);
  // An unknown Expect may be ignored (RFC 9110 section 10.1.1); Node would answer a bare 417.
  server.on('checkExpectation', serve);
  const refused = new WeakSet<Socket>();
  function refuse(socket: Socket, code: ErrorCode): void {
    if (refused.has(socket)) return;
    refused.add(socket);
    if (socket.writable && hasRoom(unanswered.get(socket))) answer(socket, code);
    else socket.destroy();
  }
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET') socket.destroy();
    else refuse(socket, codeOf(error));
  });
  server.on('connect', (_req, socket: Socket) => {
    // Node has taken all its listeners away: a reset would end the process.
    socket.on('error', () => {});
    refuse(socket, 'method_not_allowed');
  });
  return server;
}

/** Whether an answer may be written: none is due before it, except to the very request that breaks off. */
function hasRoom(unanswered: readonly ServerResponse[] = []): boolean {
  return unanswered.length < 2 && unanswered.every(({ req, headersSent }) => !req.complete && !headersSent);
}

function codeOf({ code }: NodeJS.ErrnoException): ErrorCode {
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large';
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 'payload_too_large';
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'request_timeout' : 'bad_request';
}

function answer(socket: Socket, code: ErrorCode): void {
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
  // What is still sent is read for a moment, lest a reset destroys the answer.
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
