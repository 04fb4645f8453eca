import { errors } from 'undici';
import { GatewayError } from '../errors.ts';

const unreachable = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** File descriptors are used up, or the gateway is shutting down. */
const ourLack = new Set(['EMFILE', 'ENFILE', 'UND_ERR_CLOSED', 'UND_ERR_DESTROYED']);

const tooSlow = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT']);

const lost = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

const broken = new Set(['UND_ERR_HEADERS_OVERFLOW', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH']);

const retryShortly = { 'Retry-After': '1' };

/**
 * What the client is told of a failed exchange with the upstream: 503 unreachable, 504 too slow, 502 broken.
 * @param safe whether the request can be sent again without harm; of one that cannot, and that may have been carried
 * out, nobody is told to retry
 * @param keyed whether the request carried an Idempotency-Key: a client that repeats it learns what came of it
 */
export function upstreamFault(
  error: unknown,
  { safe, keyed = false }: { safe: boolean; keyed?: boolean },
): GatewayError {
  if (error instanceof GatewayError)
    return (safe || keyed) && isUpstreamsFault(error) ? retriable(error) : error;
  const code = errorCode(error);
  if (code === 'UND_ERR_INVALID_ARG') return new GatewayError('bad_request', { cause: error });
  if (unreachable.has(code) || ourLack.has(code)) {
    return new GatewayError('upstream_unavailable', { headers: retryShortly, cause: error });
  }
  const headers = safe || keyed ? retryShortly : {};
  if (tooSlow.has(code)) return new GatewayError('upstream_timeout', { headers, cause: error });
  return new GatewayError('upstream_error', { headers, cause: withoutBytes(error) });
}

function retriable({ code, headers, cause }: GatewayError): GatewayError {
  return new GatewayError(code, { headers: { ...headers, ...retryShortly }, cause });
}

/** Errors of the HTTP parser hold what came over the wire, which is no business of the log. */
function withoutBytes(error: unknown): unknown {
  return error instanceof Error && 'data' in error ? new Error(error.message) : error;
}

/** The connection was closed before an answer came: on a kept-alive one the request may never have been seen. */
export function isConnectionLoss(error: unknown): boolean {
  return lost.has(errorCode(error));
}

/**
 * Whether the upstream is to blame for a failed exchange, and not the client or ourselves. An error that the upstream
 * answers with is none: it is an answer.
 */
export function isUpstreamsFault(error: unknown): boolean {
  if (error instanceof GatewayError) {
    return error.code === 'upstream_error' || error.code === 'upstream_timeout';
  }
  // These have no code.
  if (error instanceof errors.HTTPParserError) return true;
  const code = errorCode(error);
  return [unreachable, tooSlow, lost, broken].some((codes) => codes.has(code));
}

/** Says nothing about the upstream. */
export function isOurLack(error: unknown): boolean {
  return ourLack.has(errorCode(error));
}

function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return '';
  // Several addresses were tried: the first one's error stands for all.
  if (error instanceof AggregateError && !('code' in error)) return errorCode(error.errors[0]);
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}
