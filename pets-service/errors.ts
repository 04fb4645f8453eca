import type { ErrorRequestHandler } from 'express';
import type { Logger } from 'pino';

/** The closed list of the pets service's errors. A code is never renamed: clients switch on it. */
const catalogue = {
  unauthorized: [401, 'A valid internal token is required.'],
  invalid_json: [400, 'The request body is not valid JSON.'],
  invalid_request: [400, 'The request is not valid.'],
  unsupported_media_type: [
    415,
    'The request body must be application/json in UTF-8, without Content-Encoding.',
  ],
  payload_too_large: [413, 'The request body is larger than 1 MiB.'],
  pet_not_found: [404, 'This pet does not exist.'],
  endpoint_removed: [410, 'This endpoint has been removed. Use GET /v1/pets with the status filter instead.'],
  idempotency_key_in_use: [
    409,
    'The first request with this Idempotency-Key is not finished. Retry after the time given in the Retry-After header.',
  ],
  idempotency_key_reused: [422, 'This Idempotency-Key was used before, for a request with another body.'],
  not_found: [404, 'There is nothing at this path.'],
  method_not_allowed: [
    405,
    'This path does not support the request method. The Allow header lists those it does.',
  ],
  service_unavailable: [503, 'The database cannot serve this request. Retry shortly.'],
  internal_error: [500, 'Something went wrong inside the pets service.'],
} as const;

export type ErrorCode = keyof typeof catalogue;

export const errorCodes: readonly string[] = Object.keys(catalogue);

export interface PetsErrorOptions {
  /** Further response headers, such as Retry-After. */
  headers?: Record<string, string>;
  /** Replaces the message of the list if more can be said safely. */
  message?: string;
  /** Logged, but never sent. */
  cause?: unknown;
}

/** An expected refusal, as the Error of the specification (section 2.5). Anything else that is thrown is a bug. */
export class PetsError extends Error {
  override readonly name = 'PetsError';
  readonly code: ErrorCode;
  readonly status: number;
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, { message, headers = {}, cause }: PetsErrorOptions = {}) {
    super(message ?? catalogue[code][1], { cause });
    this.code = code;
    this.status = catalogue[code][0];
    this.headers = headers;
  }

  /** Body of the response. */
  toJSON() {
    return { code: this.code, message: this.message, status: this.status };
  }
}

/** Renders every refusal and every unexpected error in the Error shape. The access log has the reason of a refusal. */
export function renderError({ log }: { log: Logger }): ErrorRequestHandler {
  return function renderError(thrown, _req, res, _next) {
    const error = toPetsError(thrown);
    const { code, status, headers, cause, message } = error;
    res.locals.failure = error;
    if (code === 'internal_error') {
      log.error({ requestId: res.locals.requestId, code, err: cause }, message);
    }
    if (res.headersSent) res.destroy();
    else res.status(status).set(headers).json(error);
  };
}

/** Errors of body-parser, by status. A caller that leaves before its body is complete is 400, too. */
const bodyErrors: Partial<Record<number, ErrorCode>> = {
  400: 'invalid_json',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
};

/** Anything without a status is a bug, whose detail is logged and never sent. */
function toPetsError(thrown: unknown): PetsError {
  if (thrown instanceof PetsError) return thrown;
  const code = bodyErrors[thrown instanceof Error && 'status' in thrown ? Number(thrown.status) : 500];
  // With a reviver JSON.parse recurses: the stack overflows between 2,000 and 2,500 levels.
  if (code === 'invalid_json' && thrown instanceof RangeError) {
    return new PetsError('invalid_request', { message: 'The request body is nested too deeply.' });
  }
  // A refusal is without the cause, which quotes the body.
  return code === undefined ? new PetsError('internal_error', { cause: thrown }) : new PetsError(code);
}
