import { createLogThrottle } from '#runtime/log-throttle.ts';
import type { ErrorRequestHandler } from 'express';
import type { Logger } from 'pino';
import { unavailabilityOf } from './database/database-error.ts';
import { PetsError } from './errors.ts';

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
