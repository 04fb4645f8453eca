import type { IncomingMessage } from 'node:http';
import { PassThrough, type Readable } from 'node:stream';
import type { RequestHandler } from 'express';
import { GatewayError } from '../errors.ts';
import { defaultMaxBodyBytes } from '../platform/config/service-config.ts';
import { createSlots } from '../platform/http/connection-limits.ts';
import {
  assertSmallBody,
  assertWellFormed,
  awaitsContinue,
  hasBody,
  isSafe,
  onRequestError,
  payloadTooLarge,
} from '../platform/http/request.ts';
import { isAmbiguousPath, operationOf, type ApiRoute } from '../upstream/routes.ts';
import { callerOf } from './begin.ts';

const ambiguousPath =
  'The path must have no empty segment, none of dots, and no encoded slash, backslash or control character.';

/** Nearly every body is smaller. */
const smallBodyBytes = 16 * 1024;
/** Maximum number of larger bodies that arrive at a process at the same time. */
const maxLargeBodies = 64;
/** The same for one customer, whatever the number of its keys, so that nobody takes all of them. */
const maxLargeBodiesOfCustomer = 8;

interface ReceiveDependencies {
  /** By the ordinal of the service. */
  services: readonly { maxBodyBytes: number }[];
}

/**
 * Rejects what Node's parser accepts although it is no valid request, and what the API does not have. Comes after the quota, so
 * that these responses have the rate limit headers of the key.
 *
 * Waits until a small body is complete. Streamed to the upstream, it would occupy a connection for as long as its client
 * likes: a few hundred slow clients would leave none for others. A larger one is streamed, within the slots.
 */
export function receive({ services }: ReceiveDependencies): RequestHandler {
  const takeLargeBodySlot = createSlots(maxLargeBodies, maxLargeBodiesOfCustomer);
  return function receive(req, res, next) {
    assertWellFormed(req);
    const { route, isOfApi } = res.locals;
    if (route === undefined) {
      if (isOfApi && isAmbiguousPath(req.path))
        throw new GatewayError('bad_request', { message: ambiguousPath });
      throw new GatewayError('not_found');
    }
    assertAllowed(route, req.method);
    if (!hasBody(req)) return next();
    const { service } = route;
    const maxBytes = services[service?.ordinal ?? -1]?.maxBodyBytes;
    assertSmallBody(req, maxBytes);
    if (awaitsContinue(req)) res.writeContinue();
    // That of a described GET or HEAD has no meaning (RFC 9110 section 9.3.1).
    if (isSafe(req) && operationOf(service, req.method)?.requestHeaders !== 'all') {
      req.resume();
      return next();
    }
    let isLarge = false;
    readBody(req, {
      maxBytes: maxBytes ?? defaultMaxBodyBytes,
      onBytes(bytes) {
        if (isLarge || bytes <= smallBodyBytes) return;
        const freeSlot = takeLargeBodySlot(callerOf(res.locals).customerId);
        if (typeof freeSlot === 'string')
          throw new GatewayError('service_unavailable', {
            message: 'The gateway is receiving too many large bodies at once. Retry shortly.',
            headers: { 'Retry-After': '1' },
          });
        // Until the response is sent, or the connection is closed.
        res.once('close', freeSlot);
        isLarge = true;
      },
      done(outcome) {
        if (outcome instanceof GatewayError) return next(outcome);
        res.locals.body = outcome;
        next();
      },
    });
  };
}

/** A response to TRACE would show the client what the gateway adds to a request, its token among it. */
function assertAllowed({ service, allow }: ApiRoute, method: string): void {
  if ((service?.others !== undefined && method !== 'TRACE') || allow.includes(method)) return;
  throw new GatewayError('method_not_allowed', { headers: { Allow: allow.join(', ') } });
}

interface ReadBodyOptions {
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
function readBody(req: IncomingMessage, { maxBytes, onBytes, done }: ReadBodyOptions): void {
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
