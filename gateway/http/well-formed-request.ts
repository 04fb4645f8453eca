import type { IncomingMessage } from 'node:http';
import { findAmbiguity, hasValidHost } from '#runtime/malformed-request.ts';
import { GatewayError } from '../errors.ts';

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
