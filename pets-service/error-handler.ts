import { createLogThrottle } from '#runtime/log-throttle.ts';
import type { ErrorRequestHandler } from 'express';
import type { Logger } from 'pino';
import { unavailabilityOf } from './database/database-error.ts';
import { PetsError, type ErrorCode } from './errors.ts';

/** Renders every refusal and every unexpected error in the Error shape of the specification, section 2.5. */
export function renderError({ log }: { log: Logger }): ErrorRequestHandler {
  const isDue = createLogThrottle();
  return function renderError(thrown, _req, res, _next) {
    const error = toPetsError(thrown);
    const { code, status, headers, body, cause } = error;
    res.locals.sentCode = code;
    // Of an outage, one request a minute is logged with its cause. The access log has each of them.
    if (status >= 500 && (unavailabilityOf(cause) === undefined || isDue(code))) {
      log.error({ requestId: res.locals.requestId, code, err: cause }, error.message);
    }
    if (res.headersSent) res.destroy();
    else res.status(status).set(headers).json(body);
  };
}

/** By the types of body-parser's errors. */
const bodyErrors: Partial<Record<string, ErrorCode>> = {
  'entity.too.large': 'payload_too_large',
  'request.aborted': 'bad_request',
  'request.size.invalid': 'bad_request',
};

/** Anything unknown is a bug, whose detail is logged and never sent. */
function toPetsError(thrown: unknown): PetsError {
  if (thrown instanceof PetsError) return thrown;
  const type = thrown instanceof Error && 'type' in thrown ? String(thrown.type) : '';
  const code = bodyErrors[type];
  return code === undefined ? new PetsError('internal_error', { cause: thrown }) : new PetsError(code);
}
