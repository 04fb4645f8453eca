import type { IncomingMessage } from 'node:http';
import { defaultMaxBodyBytes } from '../config/service-config.ts';
import { GatewayError } from '../errors.ts';

export { defaultMaxBodyBytes };

/** Whether a body follows the headers (RFC 9112 section 6.3). */
export function hasBody(req: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers;
  return encoding !== undefined || (length !== undefined && length !== '0');
}

/** Whether a request can be sent again without harm (RFC 9110 section 9.2.1). OPTIONS is never forwarded. */
export function isSafe({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Whether the client waits for 100 Continue before it sends the body (RFC 9110 section 10.1.1). */
export function awaitsContinue(req: IncomingMessage): boolean {
  return req.httpVersion === '1.1' && req.headers.expect?.toLowerCase() === '100-continue';
}

/**
 * Refuses a body by its Content-Length, before any of it is read.
 * @throws GatewayError payload_too_large
 */
export function assertSmallBody({ headers }: IncomingMessage, maxBytes = defaultMaxBodyBytes): void {
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw payloadTooLarge(maxBytes);
}

export function payloadTooLarge(maxBytes: number): GatewayError {
  if (maxBytes === defaultMaxBodyBytes) return new GatewayError('payload_too_large');
  return new GatewayError('payload_too_large', {
    message: `The request body is larger than ${maxBytes} bytes.`,
  });
}
