import type { IncomingMessage } from 'node:http';
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

/**
 * Finds what Node's parser accepts although another server may read it differently: another end of the request, or
 * another target. Such a request is refused, and nothing after it on its connection is served (RFC 9112 sections 3.2, 6.1
 * and 11.2).
 * @param req after normalizeTarget
 * @returns what is wrong, for the client
 */
export function findAmbiguity(req: IncomingMessage): string | undefined {
  const coding = req.headers['transfer-encoding'];
  if (req.httpVersion !== '1.1' && req.httpVersion !== '1.0') {
    return 'This HTTP version is not supported. Use HTTP/1.1 or HTTP/1.0.';
  }
  if (coding !== undefined && req.httpVersion === '1.0') {
    return 'HTTP/1.0 has no Transfer-Encoding. Use Content-Length.';
  }
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return 'The only supported Transfer-Encoding is chunked.';
  }
  return hasInvalidTarget(req) ? 'The request target must be a path without a fragment.' : undefined;
}

/** Characters of a host and port (RFC 3986 section 3.2). */
const wellFormedHost = /^[A-Za-z0-9._~!$&'()*+,;=%:[\]-]*$/;

/** Whether there is exactly one valid Host, which HTTP/1.0 may omit (RFC 9112 section 3.2). */
function hasValidHost(req: IncomingMessage): boolean {
  let hosts = 0;
  // Node's `headers` drops repeated ones.
  for (let index = 0; index < req.rawHeaders.length; index += 2) {
    const name = req.rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts === 0) return req.httpVersion === '1.0';
  return hosts === 1 && wellFormedHost.test(req.headers.host ?? '');
}

const invalidTargets = new WeakSet<IncomingMessage>();

/**
 * Leaves path and query as the target, exactly as they were sent, so that all steps see the same one. Scheme and host of
 * an absolute form, which every server must accept, are removed (RFC 9112 section 3.2.2). An invalid target is recorded
 * and replaced, since Express would look for a URL in it.
 */
export function normalizeTarget(req: IncomingMessage): void {
  const target = withoutAuthority(req.url ?? '');
  const fragment = target.indexOf('#');
  // The asterisk means the server as a whole (RFC 9110 section 9.3.7).
  if (target === '*' && req.method === 'OPTIONS') return;
  if (!target.startsWith('/') || fragment !== -1) invalidTargets.add(req);
  if (!target.startsWith('/')) req.url = '/';
  else req.url = fragment === -1 ? target : target.slice(0, fragment);
}

/** Whether the target was invalid (RFC 9112 section 3.2). */
export function hasInvalidTarget(req: IncomingMessage): boolean {
  return invalidTargets.has(req);
}

function withoutAuthority(target: string): string {
  const [, rest] = /^https?:\/\/[^/?#]*((?:[/?#].*)?)$/is.exec(target) ?? [];
  if (rest === undefined) return target;
  return rest.startsWith('/') ? rest : `/${rest}`;
}
