import { HttpError, type ErrorCatalogue, type HttpErrorOptions } from '#runtime/http-error.ts';
import { createLogThrottle } from '#runtime/log-throttle.ts';
import type { ErrorRequestHandler } from 'express';
import type { Logger } from 'pino';
import { unavailabilityOf } from './database/database-error.ts';

/** The closed list of the pets service's errors. A code is never renamed. */
const catalogue = {
  unauthorized: [401, 'A valid internal token is required.'],
  invalid_json: [400, 'The request body is not valid JSON.'],
  invalid_request: [400, 'The request is not valid.'],
  unsupported_media_type: [
    415,
    'The request body must be application/json in UTF-8, without Content-Encoding.',
  ],
  payload_too_large: [413, 'The request body is larger than 1 MiB.'],
  bad_request: [400, 'The request is not valid HTTP.'],
  headers_too_large: [431, 'The request headers are too large.'],
  request_timeout: [408, 'The request did not arrive in time.'],
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
  service_unavailable: [503, 'The database cannot be reached. Retry shortly.'],
  internal_error: [500, 'Something went wrong inside the pets service.'],
} as const satisfies ErrorCatalogue<string>;

export type ErrorCode = keyof typeof catalogue;

export const errorCodes: readonly string[] = Object.keys(catalogue);

/** An expected refusal. */
export class PetsError extends HttpError<ErrorCode> {
  override readonly name = 'PetsError';

  constructor(code: ErrorCode, options?: HttpErrorOptions) {
    super(catalogue, code, options);
  }
}

/** Renders every refusal and every unexpected error in the Error shape of the specification, section 2.5. */
export function renderError({ log }: { log: Logger }): ErrorRequestHandler {
  const isDue = createLogThrottle();
  return function renderError(thrown, _req, res, _next) {
    const { code, status, headers, body, cause, message } = toPetsError(thrown);
    res.locals.sentCode = code;
    // Of an outage, one request a minute is logged with its cause. The access log has each of them.
    if (status >= 500 && (unavailabilityOf(cause) === undefined || isDue(code))) {
      log.error({ requestId: res.locals.requestId, code, err: cause }, message);
    }
    if (res.headersSent) res.destroy();
    else res.status(status).set(headers).json(body);
  };
}

/** Errors of body-parser have a status. Anything else is a bug, whose detail is logged and never sent. */
function toPetsError(thrown: unknown): PetsError {
  if (thrown instanceof PetsError) return thrown;
  const status = thrown instanceof Error && 'status' in thrown ? thrown.status : 500;
  if (status === 413) return new PetsError('payload_too_large');
  return status === 400 ? new PetsError('bad_request') : new PetsError('internal_error', { cause: thrown });
}
