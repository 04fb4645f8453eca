import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';
import { GatewayError } from '../errors.ts';
import { onRequestFault } from './request-fault.ts';

/** Largest request body in bytes. */
export const maxBodyBytes = 1024 * 1024;

/** Whether a body follows the headers (RFC 9112 section 6.3). */
export function hasBody(req: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers;
  return encoding !== undefined || (length !== undefined && length !== '0');
}

/** Whether the client holds its body back until it is told to go on; HTTP/1.0 can't (RFC 9110 section 10.1.1). */
export function awaitsContinue(req: IncomingMessage): boolean {
  return req.httpVersion === '1.1' && req.headers.expect?.toLowerCase() === '100-continue';
}

const countedBodies = new WeakMap<IncomingMessage, Transform>();

/**
 * The request's body as a stream of its own, the same one each time, counted while it comes in. It takes all of a body
 * in before any is read from it. It fails with payload_too_large past the
 * limit, and with what the HTTP server finds wrong with the rest of the request; the connection stays usable for
 * the answer either way, since not the request itself is destroyed.
 */
export function countedBody(req: IncomingMessage): Transform {
  const known = countedBodies.get(req);
  if (known !== undefined) return known;
  let bytes = 0;
  const counted = new Transform({
    readableHighWaterMark: maxBodyBytes + 1,
    transform(chunk: Buffer, _encoding, callback) {
      bytes += chunk.length;
      if (bytes > maxBodyBytes) callback(new GatewayError('payload_too_large'));
      else callback(null, chunk);
    },
  });
  countedBodies.set(req, counted);
  // The exchange with the upstream learns of a failure while it lasts; afterwards nobody needs to.
  counted.on('error', () => {});
  onRequestFault(req, (fault) => counted.destroy(fault));
  // A client that goes away in the middle never ends its body, and piping would not say so.
  req.once('close', () => {
    if (!req.complete) counted.destroy();
  });
  counted.on('close', () => {
    req.unpipe(counted);
    // What is left of the body is read and dropped, so that the client can finish and read the answer.
    req.resume();
  });
  return req.pipe(counted);
}
