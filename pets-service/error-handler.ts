import type { ErrorRequestHandler } from 'express';
import type { Logger } from 'pino';
import { requestIdOf } from './access-log.ts';
import { PetsError } from './errors.ts';
import { brokenUtf8, tooManyValues } from './pets/pet-routes.ts';

/** Every refusal and every fault ends here, in the Error shape of the specification, section 2.5. */
export function renderError({ log }: { log: Logger }): ErrorRequestHandler {
  return function renderError(thrown, req, res, _next) {
    const error = expectedError(thrown);
    if (error.status >= 500) {
      const requestId = requestIdOf(req.headers['x-request-id']);
      log.error({ requestId, code: error.code, err: error.cause }, error.message);
    }
    if (res.headersSent) {
      res.destroy();
      return;
    }
    res.status(error.status).set(error.headers).json(error.body);
  };
}

/** Errors of body-parser by their `type`; anything unknown is a bug, whose detail is logged and never sent. */
function expectedError(thrown: unknown): PetsError {
  if (thrown instanceof PetsError) return thrown;
  const type = thrown instanceof Error && 'type' in thrown ? thrown.type : undefined;
  switch (type) {
    case brokenUtf8:
      return new PetsError('invalid_json', { message: 'The request body is not valid UTF-8.' });
    case tooManyValues:
      return new PetsError('invalid_request', { message: 'The request body holds too many values.' });
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
