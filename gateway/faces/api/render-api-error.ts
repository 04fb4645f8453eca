import type { ErrorRequestHandler, Request } from 'express';
import { z } from 'zod';
import { InvalidOperation, OperationFailure, UnknownId } from '../../control/invalid-operation.ts';
import { OvertakenChange } from '../../control/overtaken-change.ts';
import {
  isRedisConnectionLost,
  isServerRefusal,
  nameWrongType,
  UnexpectedValue,
} from '../../platform/redis/redis-errors.ts';
import { ApiError } from './api-error.ts';

interface RenderApiErrorDependencies {
  /** Logs an error that is a bug, whose detail is never sent. */
  logUnexpected: (error: unknown) => void;
  /** Called with each error that a client is sent. */
  traceRefusal?: (req: Request, error: ApiError) => void;
  /** Says for others than operators what the message says for them. */
  reword?: (error: ApiError) => ApiError;
}

/** Renders every refusal and every unexpected error of the API in the Error shape. */
export function renderApiError({
  logUnexpected,
  traceRefusal = () => {},
  reword = (error) => error,
}: RenderApiErrorDependencies): ErrorRequestHandler {
  return function renderApiError(thrown: unknown, req, res, _next) {
    const error = reword(toApiError(thrown));
    if (error.code === 'internal_error') logUnexpected(thrown);
    traceRefusal(req, error);
    if (res.headersSent) {
      res.destroy();
      return;
    }
    res.set(error.headers).status(error.status).json(error.body);
  };
}

/** Errors of body-parser. Those of a body that is not compressed as it says have no type. */
const bodyErrorSchema = z.object({ type: z.string().optional(), status: z.int() });

export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof z.ZodError) return new ApiError('bad_request', { message: describeIssues(thrown) });
  if (thrown instanceof OvertakenChange)
    return new ApiError('conflict', { message: sentence(thrown.message), cause: thrown });
  if (thrown instanceof UnknownId)
    return new ApiError('not_found', { message: sentence(thrown.message), cause: thrown });
  if (thrown instanceof InvalidOperation) {
    return new ApiError('invalid_operation', { message: sentence(thrown.message), cause: thrown });
  }
  if (thrown instanceof OperationFailure) {
    return new ApiError('service_unavailable', { message: sentence(thrown.message) });
  }
  // The router decodes parameters of the path.
  if (thrown instanceof URIError) {
    return new ApiError('bad_request', {
      message: 'The path is not valid: a % in it is no percent-encoding.',
    });
  }
  if (isRedisConnectionLost(thrown)) return new ApiError('service_unavailable');
  const named = nameWrongType(thrown);
  if (named instanceof UnexpectedValue)
    return new ApiError('service_unavailable', { message: named.message });
  if (isServerRefusal(thrown)) {
    const advice = /NOPERM|can't run this command/.test(thrown.message)
      ? '; gateway/platform/redis/users.acl has the rules that it needs'
      : '';
    return new ApiError('service_unavailable', { message: `Redis refuses it: ${thrown.message}${advice}` });
  }
  const body = bodyErrorSchema.safeParse(thrown);
  if (!body.success || body.data.status >= 500) return new ApiError('internal_error');
  if (body.data.type === 'entity.too.large') return new ApiError('payload_too_large');
  const message =
    body.data.type === 'entity.parse.failed' ? 'The request body is not valid JSON.' : undefined;
  return new ApiError('bad_request', message === undefined ? {} : { message });
}

/** Names fields, and never their values. Of a list of values, the list is named, once for each message. */
function describeIssues({ issues }: z.ZodError): string {
  const texts = issues.map(({ path, message }) => {
    const field = typeof path.at(-1) === 'number' ? path.slice(0, -1) : path;
    return field.length === 0 ? message : `${field.join('.')}: ${message}`;
  });
  return Array.from(new Set(texts)).join('; ');
}

/** Messages of operations begin in lower case, since the command puts its name before them. A Redis key stays as it is. */
function sentence(message: string): string {
  return message.startsWith('gw:') ? message : message.charAt(0).toUpperCase() + message.slice(1);
}
