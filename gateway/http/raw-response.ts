import type { Socket } from 'node:net';
import { parserErrorCode, sendRawError } from '#runtime/http-server.ts';
import { GatewayError } from '../errors.ts';
import type { ConnectionLimit } from './connection-limits.ts';
import { securityHeaders } from './security-headers.ts';

/**
 * Sends the response to what became no request, and closes the connection.
 * @param method of the request, if it became one
 */
export function sendRawResponse(
  socket: Socket,
  error: GatewayError,
  headers: Readonly<Record<string, string>> = {},
  method?: string,
): void {
  sendRawError(socket, error, { ...securityHeaders, ...headers }, method);
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

/** Translates an error of Node's parser or timers. */
export function parserError(error: NodeJS.ErrnoException): GatewayError {
  const code = parserErrorCode(error);
  return new GatewayError(code, code === 'bad_request' ? { cause: error } : {});
}
