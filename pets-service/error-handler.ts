import type { ErrorRequestHandler } from 'express';
import type { Logger } from 'pino';
import { unavailabilityOf } from './database/database-error.ts';
import { PetsError } from './errors.ts';
import { createFailureLog } from './failure-log.ts';
import { invalidUtf8, tooDeep, tooManyValues } from './pets/pet-routes.ts';

/** Renders every refusal and every unexpected error in the Error shape of the specification, section 2.5. */
export function renderError({ log }: { log: Logger }): ErrorRequestHandler {
  const logFailure = createFailureLog(log);
  return function renderError(thrown, _req, res, _next) {
    const error = toPetsError(thrown);
    res.locals.sentCode = error.code;
    if (error.status >= 500) {
      const { requestId } = res.locals;
      if (unavailabilityOf(error.cause) !== undefined) logFailure({ requestId, error });
      else log.error({ requestId, code: error.code, err: error.cause }, error.message);
    }
    if (res.headersSent) {
      res.destroy();
      return;
    }
    res.status(error.status).set(error.headers).json(error.body);
  };
}

/** Translates body-parser's errors by their `type`. Anything unknown is a bug, whose detail is logged and never sent. */
function toPetsError(thrown: unknown): PetsError {
  if (thrown instanceof PetsError) return thrown;
  const type = thrown instanceof Error && 'type' in thrown ? thrown.type : undefined;
  switch (type) {
    case invalidUtf8:
      return new PetsError('invalid_json', { message: 'The request body is not valid UTF-8.' });
    case tooManyValues:
      return new PetsError('invalid_request', { message: 'The request body has more than 10,000 values.' });
    case tooDeep:
      return new PetsError('invalid_request', {
        message: 'The request body is nested too deeply: it has more than 1,000 levels.',
      });
    case 'entity.parse.failed':
      return new PetsError('invalid_json');
    case 'entity.too.large':
      return new PetsError('payload_too_large');
    case 'request.aborted':
    case 'request.size.invalid':
      return new PetsError('bad_request');
    case 'charset.unsupported':
    case 'encoding.unsupported':
      return new PetsError('unsupported_media_type');
    default:
      return new PetsError('internal_error', { cause: thrown });
  }
}
