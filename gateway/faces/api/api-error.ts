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

/** The closed list of errors of the operators' HTTP API. The console switches on the code. */
const catalogue = {
  bad_request: [400, 'The request is not valid.'],
  no_session: [
    401,
    'There is no session, or it has ended. Get a link with: ops console. A program sends an API token as Authorization: Bearer',
  ],
  invalid_code: [401, 'The code is unknown, was used before, or is older than five minutes.'],
  invalid_token: [
    401,
    'The token is unknown, was revoked or has expired. Get one with: ops api-tokens issue; send it as Authorization: Bearer TOKEN',
  ],
  operator_required: [403, 'A viewer cannot change anything. Get a link for operators with: ops console'],
  forbidden_origin: [403, 'A change has to come from a page of the console itself.'],
  invalid_csrf_token: [403, 'The header X-CSRF-Token does not belong to this session.'],
  insufficient_scope: [403, 'The token lacks a scope that this operation needs.'],
  session_required: [403, 'Only people in the console may do this, no program with a token.'],
  not_found: [404, 'There is nothing at this path.'],
  conflict: [409, 'Somebody else has changed this in the meantime.'],
  idempotency_key_in_use: [
    409,
    'The first request with this Idempotency-Key is under way. If it stays so, its gateway was stopped: look for what it has made, and use another key.',
  ],
  payload_too_large: [413, 'The request body is larger than 64 KiB.'],
  invalid_operation: [422, 'This cannot be done.'],
  idempotency_key_reused: [422, 'This Idempotency-Key was used before, for another request.'],
  too_many_requests: [429, 'Too many attempts. Retry after the time given in the Retry-After header.'],
  service_unavailable: [
    503,
    'Redis is unavailable, so nothing can be read or changed at the moment. Gateways limit known API keys on their own: see GatewayWithoutRedis in gateway/RUNBOOK.md.',
  ],
  internal_error: [500, 'Something went wrong inside the gateway. Its log says what.'],
} as const satisfies Record<string, readonly [status: number, message: string]>;

export type ApiErrorCode = keyof typeof catalogue;

export const apiErrorCodes: readonly string[] = Object.keys(catalogue);

export const apiErrorSchema = z
  .object({ code: z.enum(apiErrorCodes), message: z.string(), status: z.int() })
  .meta({ id: 'Error' });

interface ApiErrorOptions {
  /** Replaces the catalogue's message. */
  message?: string;
  /** Further response headers, such as Retry-After. */
  headers?: Record<string, string>;
  cause?: Error;
}

/** An expected refusal of the operators' HTTP API. Rendered by renderApiError, in the Error shape of the specification. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ApiErrorCode;
  readonly status: number;
  readonly headers: Record<string, string>;

  constructor(code: ApiErrorCode, { message, headers = {}, ...options }: ApiErrorOptions = {}) {
    const [status, standard] = catalogue[code];
    super(message ?? standard, options);
    this.code = code;
    this.status = status;
    this.headers = headers;
  }

  get body() {
    return { code: this.code, message: this.message, status: this.status };
  }
}

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
