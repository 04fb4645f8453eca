import { once } from 'node:events';
import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Express } from 'express';
import { errorMessage, PetsError, type ErrorCode } from './errors.ts';
import { normalizeTarget, securityHeaders } from './request-steps.ts';

interface Timeouts {
  /** Time for a request as a whole to arrive. */
  requestTimeoutMs: number;
  /** Time that a connection may stay open between two requests. */
  keepAliveTimeoutMs: number;
}

/** The most that the gateway accepts from its clients, 64 KiB, with room for what it adds. */
const maxHeaderSize = 80 * 1024;
/** Time for the headers of a request to arrive: a few packets, on the slowest network. */
const headersTimeoutMs = 10_000;
/** Time for which the rest of what a client sends is read: a reset could destroy the response. */
const lingerMs = 1000;

/** Node's HTTP server, with the bare responses of its parser replaced by Errors. */
export function createHttpServer(app: Express, { requestTimeoutMs, keepAliveTimeoutMs }: Timeouts) {
  /** Unanswered requests of each connection. */
  const connections = new Map<Socket, Set<ServerResponse>>();
  const closing = new WeakSet<Socket>();
  let draining = false;
  const server = createServer({
    maxHeaderSize,
    requireHostHeader: false,
    headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, requestTimeoutMs),
    keepAliveTimeout: keepAliveTimeoutMs,
  });
  // Node would silently drop headers beyond its count, and its parser could use a Content-Length that no step sees.
  server.maxHeadersCount = 0;
  // A client may end its side after the request, as `nc -N` does. Node by default would end the other side, too.
  Object.assign(server, { httpAllowHalfOpen: true });

  function serve(req: IncomingMessage, res: ServerResponse): void {
    const { socket } = req;
    const unanswered = connections.get(socket);
    unanswered?.add(res);
    res.on('close', () => {
      unanswered?.delete(res);
      if (draining && !server.listening && unanswered?.size === 0) socket.destroySoon();
    });
    // Requests after one that closes the connection are not served (RFC 9112 section 9.6).
    if (closing.has(socket)) return;
    // Node's parser drops what follows an Upgrade in the same read.
    if (draining || req.headers.upgrade !== undefined) res.shouldKeepAlive = false;
    // Before Express, whose router reads the target first.
    normalizeTarget(req);
    app(req, res);
    if (!res.shouldKeepAlive) closing.add(socket);
  }
  // A refused request gets no 100 Continue, and an unknown Expect no bare 417.
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, serve);
  server.on('connection', (socket: Socket) => {
    connections.set(socket, new Set());
    socket.once('close', () => connections.delete(socket));
  });

  function refuse(socket: Socket, code: ErrorCode): void {
    // An error was sent, and the rest of what the client sends is read.
    if (socket.writableEnded) return;
    // No other response may be due first, except that of the invalid request itself.
    const due = [...(connections.get(socket) ?? [])];
    const isFirst = due.length < 2 && due.every(({ req, headersSent }) => !req.complete && !headersSent);
    if (socket.writable && isFirst) sendRawError(socket, new PetsError(code));
    else socket.destroy();
  }
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET') socket.destroy();
    else refuse(socket, parserErrors[error.code ?? ''] ?? 'bad_request');
  });
  server.on('connect', (_req, socket: Socket) => {
    // Node has removed its listeners from the socket: a reset would end the process.
    socket.on('error', () => {});
    refuse(socket, 'method_not_allowed');
  });

  function destroyAll(): void {
    for (const socket of connections.keys()) socket.destroy();
  }

  return {
    server,
    isDraining: () => draining,
    /**
     * Sends Connection: close with every response during the delay, so that callers move to another instance. Then takes
     * no new connections, and closes each one after the response it is busy with.
     * @param force aborted when nothing is waited for any longer
     */
    async drain(delayMs: number, force: AbortSignal): Promise<void> {
      draining = true;
      for (const unanswered of connections.values()) {
        for (const res of unanswered) if (!res.headersSent) res.shouldKeepAlive = false;
      }
      await sleep(delayMs, undefined, { signal: force }).catch(() => {});
      const closed = new Promise((resolve) => {
        server.close(resolve);
      });
      // Node spares connections on which nothing was ever sent.
      for (const [socket, unanswered] of connections) if (unanswered.size === 0) socket.destroy();
      force.addEventListener('abort', destroyAll);
      if (force.aborted) destroyAll();
      await closed;
    },
  };
}

const parserErrors: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'payload_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** Responds to what became no request, and closes the connection. */
function sendRawError(socket: Socket, error: PetsError): void {
  const body = JSON.stringify(error.body);
  const headers = Object.entries({
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    Date: new Date().toUTCString(),
    Connection: 'close',
    ...securityHeaders,
    ...(error.code === 'method_not_allowed' ? { Allow: 'GET, HEAD, POST, OPTIONS' } : {}),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${headers.join('')}\r\n${body}`);
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

/**
 * @returns the port, which the system chose if 0 was asked for
 * @throws Error that names the setting at fault and its value
 */
export async function listen(server: Server, port: number, host: string): Promise<number> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    throw new Error(listenError(error, port, host), { cause: error });
  }
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return address.port;
}

function listenError(error: unknown, port: number, host: string): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const resolving = error instanceof Error && 'syscall' in error && error.syscall === 'getaddrinfo';
  if (resolving) return `PETS_SERVICE_HOST: ${host} can't be resolved (${code})`;
  // EINVAL: a link-local address without its zone, as in fe80::1%eth0.
  if (['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL'].includes(code)) {
    return `PETS_SERVICE_HOST: ${host} is not an address of this machine (${code})`;
  }
  const problem =
    code === 'EADDRINUSE' ? 'is already in use by another program' : `can't be used (${errorMessage(error)})`;
  return `PETS_SERVICE_PORT: ${host}:${port} ${problem}`;
}
