import type { IncomingMessage } from 'node:http';
import { hasInvalidTarget } from './normalize-target.ts';

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
export function hasValidHost(req: IncomingMessage): boolean {
  const hosts = countHeader('host', req);
  if (hosts === 0) return req.httpVersion === '1.0';
  return hosts === 1 && wellFormedHost.test(req.headers.host ?? '');
}

/**
 * Counts how often a header was sent. Node's `headers` joins or drops repeated ones.
 * @param name in lower case
 */
export function countHeader(name: string, { rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const sent = rawHeaders[index];
    if (sent?.length === name.length && sent.toLowerCase() === name) count += 1;
  }
  return count;
}
