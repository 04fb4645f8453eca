import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../errors.ts';
import { maxBodyBytes } from './request-body.ts';
import { onRequestError } from './request-error.ts';

interface ReadBodyOptions {
  /** Called with the number of bytes so far; throws a GatewayError if they are too many for now. */
  onBytes: (bytes: number) => void;
  /** Called once, with the body or an error. Not called if the client closes the connection. */
  done: (outcome: Buffer | GatewayError) => void;
}

const firstBytes = 4096;

/**
 * Reads a body into one growing buffer. A list of chunks would take hundreds of times the size of a body that is sent
 * byte by byte, since each chunk is an object.
 *
 * After an error the rest of the body is read and dropped, so that the client can finish and read the response.
 */
export function readBody(req: IncomingMessage, { onBytes, done }: ReadBodyOptions): void {
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
  onRequestError(req, settle);
}
