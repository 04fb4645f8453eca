import { z } from 'zod';

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
