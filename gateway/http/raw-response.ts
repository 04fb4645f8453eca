import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { GatewayError } from '../errors.ts';
import type { ConnectionLimit } from './connection-limits.ts';
import { securityHeaders } from './security-headers.ts';

/** Time for which the rest of what the client sends is read: a reset could destroy the response. */
const lingerMs = 1000;

interface RawResponse {
  /** Method of the request, if it became one. */
  method?: string | undefined;
  headers?: Readonly<Record<string, string>>;
}

/** Sends the response to what became no request, and closes the connection. */
export function sendRawResponse(
  socket: Socket,
  error: GatewayError,
  { method, headers = {} }: RawResponse = {},
): void {
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
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

export function tooManyConnections(limit: ConnectionLimit): GatewayError {
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
export function parserError(error: NodeJS.ErrnoException): GatewayError {
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
