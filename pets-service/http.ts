import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { createDrain } from '#runtime/drain.ts';
import {
  createNodeServer,
  parserErrorCode,
  sendRawError,
  type HttpServerLimits,
} from '#runtime/http-server.ts';
import { findAmbiguity, hasValidHost } from '#runtime/malformed-request.ts';
import { createMessageClasses } from '#runtime/message-classes.ts';
import { normalizeTarget } from '#runtime/normalize-target.ts';
import type { Express, RequestHandler } from 'express';
import { PetsError, type ErrorCode } from './errors.ts';

/** The most that the gateway accepts from its clients, 64 KiB, with room for what it adds. */
const maxHeaderBytes = 80 * 1024;

/** Creates Node's HTTP server with the bare responses of its parser replaced by Errors. */
export function createHttpServer(app: Express, timeouts: Omit<HttpServerLimits, 'maxHeaderBytes'>) {
  const closing = new WeakSet<Socket>();
  const server = createNodeServer(createMessageClasses(app), { ...timeouts, maxHeaderBytes }, (req, res) => {
    // Requests after one that closes the connection are not served (RFC 9112 section 9.6).
    if (closing.has(req.socket)) return;
    // Node's parser drops what follows an Upgrade in the same read.
    if (req.headers.upgrade !== undefined) res.shouldKeepAlive = false;
    // Before Express, whose router reads the target first.
    normalizeTarget(req);
    app(req, res);
    if (!res.shouldKeepAlive) closing.add(req.socket);
  });
  const drain = createDrain(server);

  function refuse(socket: Socket, code: ErrorCode): void {
    // An error was sent, and the rest of what the client sends is read.
    if (socket.writableEnded) return;
    const inFlight = drain.inFlight(socket);
    // No other response may be due first, except that of the invalid request itself.
    const isDue =
      inFlight.length < 2 && inFlight.every(({ req, headersSent }) => !req.complete && !headersSent);
    const allow = code === 'method_not_allowed' ? { Allow: 'GET, HEAD, POST, OPTIONS' } : {};
    if (!socket.writable || !isDue) socket.destroy();
    else sendRawError(socket, new PetsError(code), { ...securityHeaders, ...allow });
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
  return { server, drain };
}

/** Headers of every response: it must not be stored, and has the type that it says. The gateway sets its own. */
export const securityHeaders = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };

/** The form of the gateway's request ids. Anything else could be an attempt to write into the log. */
const wellFormedId = /^[A-Za-z0-9._-]{1,128}$/;

/** Keeps the X-Request-Id of a caller if it is well-formed and makes one otherwise, and sets the security headers. */
export function beginResponse(): RequestHandler {
  return function beginResponse(req, res, next) {
    const offered = req.headers['x-request-id'];
    res.locals.requestId = typeof offered === 'string' && wellFormedId.test(offered) ? offered : randomUUID();
    res.set({ 'X-Request-Id': res.locals.requestId, ...securityHeaders });
    next();
  };
}

/** More than the gateway accepts and adds. */
const maxHeaders = 220;

/**
 * Rejects what Node's parser accepts although another server may read it differently. The gateway refuses the same, but
 * internal services do not come through it.
 */
export function rejectMalformed(): RequestHandler {
  return function rejectMalformed(req, res, next) {
    const ambiguity = findAmbiguity(req);
    if (ambiguity !== undefined) {
      // No request after it is served: its beginning is uncertain.
      res.shouldKeepAlive = false;
      throw new PetsError('bad_request', { message: ambiguity });
    }
    if (req.rawHeaders.length / 2 > maxHeaders) throw new PetsError('headers_too_large');
    if (!hasValidHost(req)) throw new PetsError('bad_request');
    next();
  };
}
