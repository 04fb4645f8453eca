import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../errors.ts';
import { hasBrokenTarget } from './normalize-target.ts';

/**
 * What Node's parser lets pass although another server might see something else in it: another end of the request, or
 * another target. Such a request is refused, and nothing that follows it on its connection is served (RFC 9112
 * sections 3.2, 6.1 and 11.2).
 * @param req after normalizeTarget
 * @returns why it is refused
 */
export function ambiguityOf(req: IncomingMessage): GatewayError | undefined {
  const coding = req.headers['transfer-encoding'];
  if (req.httpVersion !== '1.1' && req.httpVersion !== '1.0') {
    return badRequest('This version of HTTP is not spoken here.');
  }
  if (coding !== undefined && req.httpVersion === '1.0') {
    return badRequest('There is no transfer coding in HTTP/1.0.');
  }
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return badRequest('No transfer coding but chunked is understood.');
  }
  if (hasBrokenTarget(req)) return badRequest('The target must be a path, without a fragment.');
  return undefined;
}

function badRequest(message: string): GatewayError {
  return new GatewayError('bad_request', { message });
}
