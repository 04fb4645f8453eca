import { errors } from 'undici';
import { GatewayError } from '../errors.ts';
import { words } from './headers.ts';

/** Codes of errors, of the system and of undici, by what they say. */
const codes = {
  unreachable: words(
    'ECONNREFUSED EHOSTUNREACH ENETUNREACH EHOSTDOWN ENOTFOUND EAI_AGAIN UND_ERR_CONNECT_TIMEOUT',
  ),
  /** The process has no file descriptors left, or the gateway is shutting down. */
  local: words('EMFILE ENFILE UND_ERR_CLOSED UND_ERR_DESTROYED'),
  late: words('UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT ETIMEDOUT'),
  lost: words('UND_ERR_SOCKET ECONNRESET EPIPE'),
  invalid: words('UND_ERR_HEADERS_OVERFLOW UND_ERR_RES_CONTENT_LENGTH_MISMATCH'),
};

function says(error: unknown, ...kinds: (keyof typeof codes)[]): boolean {
  const code = errorCode(error);
  return kinds.some((kind) => codes[kind].includes(code));
}

const retryAfter = { 'Retry-After': '1' };

/**
 * A complete response that is not meant for a client, which gets a 502. It says nothing about the instance: another one would
 * respond the same.
 */
export class UnsuitableResponse extends GatewayError {
  constructor(cause: string) {
    super('upstream_error', { cause });
  }
}

/** The customer has too many streams, so it does not get another one. */
export class TooManyStreams extends GatewayError {
  constructor(streams = 'uploads and downloads') {
    super('rate_limit_exceeded', {
      message: `Too many ${streams} are under way. End some, or wait for their end.`,
      headers: { ...retryAfter, 'X-RateLimit-Window': 'streams' },
    });
  }
}

interface RetryOptions {
  /** Whether the request can be sent again without harm. */
  safe: boolean;
  /**
   * Whether the request carried an Idempotency-Key: a client that repeats it gets the first response again. Undefined if its
   * operation does not describe that header, so that the service may not know it.
   */
  idempotent?: boolean | undefined;
}

/**
 * Translates an error of the upstream: 503 unreachable, 504 timeout, 502 anything else. Retry-After invites a retry only
 * if one is harmless, or if the request was not carried out.
 */
export function upstreamError(error: unknown, retry: RetryOptions): GatewayError {
  if (error instanceof GatewayError) {
    const isOutcomeUnknown =
      error instanceof UnsuitableResponse || error instanceof TooManyStreams || isUpstreamFault(error);
    return isOutcomeUnknown ? withUnknownOutcome(error, retry) : error;
  }
  if (errorCode(error) === 'UND_ERR_INVALID_ARG') return new GatewayError('bad_request', { cause: error });
  if (says(error, 'unreachable', 'local')) {
    return new GatewayError('upstream_unavailable', { headers: retryAfter, cause: error });
  }
  if (says(error, 'late'))
    return withUnknownOutcome(new GatewayError('upstream_timeout', { cause: error }), retry);
  return withUnknownOutcome(new GatewayError('upstream_error', { cause: withoutBytes(error) }), retry);
}

/** An error after which the upstream may have carried the request out. */
function withUnknownOutcome(
  { code, cause, message, headers: own }: GatewayError,
  { safe, idempotent }: RetryOptions,
): GatewayError {
  const headers = safe || idempotent === true ? { ...own, ...retryAfter } : own;
  if (safe) return new GatewayError(code, { headers, cause, message });
  const giveKeys = idempotent === undefined ? '' : ', and give each request an Idempotency-Key';
  const advice =
    idempotent === true
      ? 'Send it again with the same Idempotency-Key.'
      : `Look whether it was before you send it again${giveKeys}.`;
  const advised = `${message} The request may have been carried out. ${advice}`;
  return new GatewayError(code, { headers, cause, message: advised });
}

/** Errors of the HTTP parser hold bytes of the response, which must not be logged. */
function withoutBytes(error: unknown): unknown {
  return error instanceof Error && 'data' in error ? new Error(error.message) : error;
}

/** The connection was closed before the response: on a kept-alive connection the request may never have been seen. */
export const isConnectionLost = (error: unknown): boolean => says(error, 'lost');

/**
 * Whether the upstream caused the error, and not the client or this process. A response with an error status does not
 * count.
 */
export function isUpstreamFault(error: unknown): boolean {
  if (error instanceof UnsuitableResponse) return false;
  if (error instanceof GatewayError) {
    return error.code === 'upstream_error' || error.code === 'upstream_timeout';
  }
  // Errors of the parser have no code.
  return error instanceof errors.HTTPParserError || says(error, 'unreachable', 'late', 'lost', 'invalid');
}

/** Whether the error says nothing about the upstream. */
export const isLocalResourceError = (error: unknown): boolean => says(error, 'local');

function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return '';
  // Several addresses were tried: the first one's error stands for all.
  if (error instanceof AggregateError && !('code' in error)) return errorCode(error.errors[0]);
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** The code at the beginning of an Error body; undefined for a body that does not begin so. */
export function errorCodeOf(body: Buffer): string | undefined {
  return /^\s*\{\s*"code"\s*:\s*"([a-z_]{1,40})"/.exec(body.toString('latin1', 0, 80))?.[1];
}
