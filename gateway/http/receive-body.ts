import type { IncomingMessage } from 'node:http';
import { PassThrough, type Readable } from 'node:stream';
import { GatewayError } from '../errors.ts';
import { payloadTooLarge } from './request-body.ts';
import { onRequestError } from './request-error.ts';

interface ReceiveBodyOptions {
  maxBytes: number;
  /** Called with the number of bytes so far; throws a GatewayError if they are too many for now. */
  onBytes: (bytes: number) => void;
  /**
   * Called once, with the body or an error: a small body is complete, a larger one is a stream of what goes on arriving,
   * which ends with a GatewayError if it becomes too large or breaks. Not called if the client closes the connection.
   */
  done: (outcome: Buffer | Readable | GatewayError) => void;
}

const firstBytes = 4096;
/** Larger bodies are streamed. */
const maxCollectedBytes = 64 * 1024;

/**
 * Reads a body into one growing buffer. A list of chunks would take hundreds of times the size of a body that is sent
 * byte by byte, since each chunk is an object.
 *
 * After an error the rest of the body is read and dropped, so that the client can finish and read the response.
 */
export function receiveBody(req: IncomingMessage, { maxBytes, onBytes, done }: ReceiveBodyOptions): void {
  let buffer = Buffer.allocUnsafe(firstBytes);
  let bytes = 0;
  let settled = false;
  let stream: PassThrough | undefined;
  let pending: Buffer[] = [];

  function settle(outcome: Buffer | Readable | GatewayError): void {
    if (settled) return;
    settled = true;
    done(outcome);
  }

  function fail(error: GatewayError): void {
    req.off('data', onData);
    req.off('end', onEnd);
    req.resume();
    stream?.destroy(error);
    settle(error);
  }

  function onData(chunk: Buffer): void {
    const needed = bytes + chunk.length;
    if (needed > maxBytes) return fail(payloadTooLarge(maxBytes));
    try {
      onBytes(needed);
    } catch (error) {
      fail(error instanceof GatewayError ? error : new GatewayError('internal_error', { cause: error }));
      return;
    }
    if (stream === undefined && needed > maxCollectedBytes) beginStream();
    if (stream === undefined) collect(chunk, needed);
    else if (pending.push(chunk) === 1) setImmediate(writePending);
    bytes = needed;
  }

  /** Joins what came in one turn: a body that is sent byte by byte would be as many writes to the service. */
  function writePending(): void {
    const [first] = pending;
    if (first === undefined || stream === undefined) return;
    const joined = pending.length === 1 ? first : Buffer.concat(pending);
    pending = [];
    // A service that has responded reads no more.
    if (!stream.destroyed && !stream.write(joined)) req.pause();
  }

  function collect(chunk: Buffer, needed: number): void {
    if (needed > buffer.length) {
      const larger = Buffer.allocUnsafe(Math.min(maxCollectedBytes, Math.max(needed, 2 * buffer.length)));
      buffer.copy(larger, 0, 0, bytes);
      buffer = larger;
    }
    chunk.copy(buffer, bytes);
  }

  function beginStream(): void {
    stream = new PassThrough()
      .on('drain', () => req.resume())
      .on('close', () => req.resume())
      // Errors reach the exchange, if there is one already.
      .on('error', () => {});
    stream.write(buffer.subarray(0, bytes));
    settle(stream);
  }

  function onEnd(): void {
    if (stream === undefined) settle(buffer.subarray(0, bytes));
    else {
      writePending();
      stream.end();
    }
  }

  req.on('data', onData);
  req.on('end', onEnd);
  onRequestError(req, fail);
}
