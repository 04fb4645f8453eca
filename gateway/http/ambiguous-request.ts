import type { IncomingMessage } from 'node:http';
import { hasInvalidTarget } from '#runtime/normalize-target.ts';
import { GatewayError } from '../errors.ts';

/**
 * Finds what Node's parser accepts although another server may read it differently: another end of the request, or
 * another target. Such a request is refused, and nothing after it on its connection is served (RFC 9112 sections 3.2, 6.1
 * and 11.2).
 * @param req after normalizeTarget
 */
export function findAmbiguity(req: IncomingMessage): GatewayError | undefined {
  const coding = req.headers['transfer-encoding'];
  if (req.httpVersion !== '1.1' && req.httpVersion !== '1.0') {
    return badRequest('This HTTP version is not supported. Use HTTP/1.1 or HTTP/1.0.');
  }
  if (coding !== undefined && req.httpVersion === '1.0') {
    return badRequest('HTTP/1.0 has no Transfer-Encoding. Use Content-Length.');
  }
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return badRequest('The only supported Transfer-Encoding is chunked.');
  }
  if (hasInvalidTarget(req)) return badRequest('The request target must be a path without a fragment.');
  return undefined;
}

function badRequest(message: string): GatewayError {
  return new GatewayError('bad_request', { message });
}
