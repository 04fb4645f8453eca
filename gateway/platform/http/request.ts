import type { IncomingMessage } from 'node:http';
import { findAmbiguity, hasValidHost } from '#runtime/malformed-request.ts';
import { GatewayError } from '../../errors.ts';
import { defaultMaxBodyBytes } from '../config/service-config.ts';

/** No honest client sends as many, not even through proxies. */
const maxHeaders = 200;

/** @throws GatewayError bad_request or headers_too_large for what Node's parser accepts although it is no valid request */
export function assertWellFormed(req: IncomingMessage): void {
  const ambiguity = findAmbiguity(req);
  if (ambiguity !== undefined) throw new GatewayError('bad_request', { message: ambiguity });
  if (req.rawHeaders.length / 2 > maxHeaders) throw new GatewayError('headers_too_large');
  if (!hasValidHost(req)) {
    throw new GatewayError('bad_request', { message: 'The request needs exactly one valid Host header.' });
  }
  // HTTP/1.0 has no Expect.
  const expect = req.httpVersion === '1.1' ? req.headers.expect : undefined;
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    throw new GatewayError('bad_request', {
      status: 417,
      message: 'The only supported Expect is 100-continue.',
    });
  }
}

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

/*
 * The HTTP server finds some errors of a request only after the journey has begun: an invalid chunk, or a body that does
 * not arrive in time. The reader of the body is notified here, and ends the request as usual.
 */
const errors = new WeakMap<IncomingMessage, GatewayError>();
const raised = Symbol('request error');

export function raiseRequestError(req: IncomingMessage, error: GatewayError): void {
  errors.set(req, error);
  req.emit(raised, error);
}

/** Calls the listener with the error, at once if it was raised before. */
export function onRequestError(req: IncomingMessage, listener: (error: GatewayError) => void): void {
  // A listener and not a WeakMap entry: V8 keeps the keys of a WeakMap alive for a while, and this is every request.
  req.once(raised, listener);
  const error = errors.get(req);
  if (error !== undefined) listener(error);
}
