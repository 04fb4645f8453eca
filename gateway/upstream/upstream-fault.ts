import { GatewayError } from '../errors.ts';

const unreachable = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
  // Our own lack of file descriptors.
  'EMFILE',
  'ENFILE',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_CLOSED',
  'UND_ERR_DESTROYED',
]);

const tooSlow = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT']);

const retryShortly = { 'Retry-After': '1' };

/**
 * What the client is told of a failed exchange with the upstream: 503 unreachable, 504 too slow, 502 broken.
 * @param safe whether the request can be sent again without harm; of one that cannot, and that may have been carried
 * out, nobody is told to retry
 */
export function upstreamFault(error: unknown, { safe }: { safe: boolean }): GatewayError {
  if (error instanceof GatewayError) return error;
  const code = errorCode(error);
  if (code === 'UND_ERR_INVALID_ARG') return new GatewayError('bad_request', { cause: error });
  if (unreachable.has(code)) {
    return new GatewayError('upstream_unavailable', { headers: retryShortly, cause: error });
  }
  if (tooSlow.has(code)) return new GatewayError('upstream_timeout', { cause: error });
  return new GatewayError('upstream_error', { headers: safe ? retryShortly : {}, cause: error });
}

/** The connection was closed before an answer came: on a kept-alive one the request may never have been seen. */
export function isConnectionLoss(error: unknown): boolean {
  return ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(errorCode(error));
}

function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return '';
  // Several addresses were tried: the first one's error stands for all.
  if (error instanceof AggregateError && !('code' in error)) return errorCode(error.errors[0]);
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}
