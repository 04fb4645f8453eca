import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../errors.ts';
import { maxBodyBytes } from './request-body.ts';
import { onRequestFault } from './request-error.ts';

interface CollectBodyOptions {
  /** Told of the number of bytes so far; throws where they are too many for now. */
  onBytes: (bytes: number) => void;
  /** Called once: with the whole body, or with why there is none. Not at all where the client goes away. */
  done: (outcome: Buffer | GatewayError) => void;
}

const firstBytes = 4096;

/**
 * Reads a body into one buffer that grows with it. Kept as the chunks in which it comes, each of which is an object of
 * its own, a body sent byte by byte would take hundreds of times its size.
 *
 * After a failure, payload_too_large or what the HTTP server finds wrong with the rest of the request, the remainder
 * is read and dropped, so that the client can finish and read the answer.
 */
export function collectBody(req: IncomingMessage, { onBytes, done }: CollectBodyOptions): void {
  let buffer = Buffer.allocUnsafe(firstBytes);
  let bytes = 0;
  let settled = false;

  function settle(outcome: Buffer | GatewayError): void {
    if (settled) return;
    settled = true;
    req.off('data', onData);
    req.off('end', onEnd);
    req.resume();
    done(outcome);
  }

  function onData(chunk: Buffer): void {
    const needed = bytes + chunk.length;
    if (needed > maxBodyBytes) return settle(new GatewayError('payload_too_large'));
    if (needed > buffer.length) {
      const larger = Buffer.allocUnsafe(Math.min(maxBodyBytes, Math.max(needed, 2 * buffer.length)));
      buffer.copy(larger, 0, 0, bytes);
      buffer = larger;
    }
    chunk.copy(buffer, bytes);
    bytes = needed;
    try {
      onBytes(bytes);
    } catch (error) {
      settle(error instanceof GatewayError ? error : new GatewayError('internal_error', { cause: error }));
    }
  }

  function onEnd(): void {
    settle(buffer.subarray(0, bytes));
  }

  req.on('data', onData);
  req.on('end', onEnd);
  onRequestFault(req, settle);
}
