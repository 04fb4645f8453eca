import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import { type ErrorCode, PetsError } from './errors.ts';

/** Longer than any caller keeps an idle connection, lest a request meets its closing. */
const keepAliveTimeoutMs = 65_000;
const headersTimeoutMs = 10_000;
/** Longer than the gateway gives its own clients, so that it is the one to answer 408. */
const requestTimeoutMs = 300_000;

/** Node's HTTP server, with what its parser refuses answered in the Error shape too. */
export function createHttpServer(app: (req: IncomingMessage, res: ServerResponse) => void): Server {
  const server = createServer({
    keepAliveTimeout: keepAliveTimeoutMs,
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: 1000,
    requireHostHeader: false,
  });
  const busy = new WeakSet<Socket>();
  function serve(req: IncomingMessage, res: ServerResponse): void {
    busy.add(req.socket);
    res.on('close', () => busy.delete(req.socket));
    app(req, res);
  }
  server.on('request', serve);
  // An unknown Expect may be ignored (RFC 9110 section 10.1.1); Node would answer a bare 417.
  server.on('checkExpectation', serve);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // In the middle of an answer there is no room for another one.
    if (!socket.writable || busy.has(socket) || error.code === 'ECONNRESET') socket.destroy();
    else answer(socket, codeOf(error));
  });
  server.on('connect', (_req, socket: Socket) => answer(socket, 'method_not_allowed'));
  return server;
}

function codeOf({ code }: NodeJS.ErrnoException): ErrorCode {
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large';
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'request_timeout' : 'bad_request';
}

function answer(socket: Socket, code: ErrorCode): void {
  const error = new PetsError(code);
  const body = JSON.stringify(error.body);
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(code === 'method_not_allowed' ? ['Allow: GET, HEAD, POST, OPTIONS'] : []),
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
