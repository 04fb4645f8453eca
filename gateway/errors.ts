/**
 * The closed list of the gateway's own errors. Clients switch on the code, so a code is never renamed. The same list is in
 * openapi.yaml.
 */
const catalogue = {
  missing_api_key: [401, 'An API key is required: send it as "Authorization: Bearer <API_KEY>".'],
  malformed_api_key: [401, 'The Authorization header does not hold a well-formed API key.'],
  unknown_api_key: [401, 'This API key does not exist.'],
  expired_api_key: [401, 'This API key has expired.'],
  revoked_api_key: [401, 'This API key has been revoked.'],
  account_suspended: [401, 'The account of this API key is suspended. Ask support.'],
  insufficient_scope: [403, 'This API key lacks a scope that the operation needs.'],
  unrestricted_key: [
    403,
    'This API key may call every operation, so it does not belong in a browser. Use a key that is restricted by scopes.',
  ],
  cost_exceeds_limit: [403, 'The request costs more than a limit of this API key allows at all.'],
  rate_limit_exceeded: [
    429,
    'The rate limit is exceeded. Retry after the time given in the Retry-After header.',
  ],
  api_key_banned: [
    429,
    'This API key is banned: it went on after 429, or an operator banned it. Wait for Retry-After: going on makes bans longer.',
  ],
  not_found: [404, 'There is nothing at this path.'],
  method_not_allowed: [
    405,
    'This path does not support the request method. The Allow header lists those it does.',
  ],
  bad_request: [400, 'The request is not valid HTTP.'],
  invalid_request: [400, 'A parameter of the request is invalid.'],
  headers_too_large: [431, 'The request headers are too large.'],
  payload_too_large: [413, 'The request body is larger than 1 MiB.'],
  request_timeout: [408, 'The request did not arrive in time.'],
  upstream_unavailable: [503, 'The service behind the gateway cannot be reached. Retry shortly.'],
  upstream_timeout: [504, 'The service behind the gateway did not respond in time.'],
  upstream_error: [502, 'The service behind the gateway sent an invalid response.'],
  service_unavailable: [503, 'The gateway cannot check this request at the moment. Retry shortly.'],
  internal_error: [500, 'Something went wrong inside the gateway.'],
} as const;

export type ErrorCode = keyof typeof catalogue;

export const errorCodes: readonly string[] = Object.keys(catalogue);

export interface GatewayErrorOptions {
  /** Further response headers, such as Retry-After. */
  headers?: Record<string, string>;
  /** Logged, but never sent. */
  cause?: unknown;
  /** Replaces the list's message if more can be said safely. */
  message?: string;
  /** Replaces the list's status. */
  status?: number;
}

/**
 * An error without a stack trace. Nobody reads the stack of an expected refusal, and capturing it is the largest part of
 * the cost of a refused request (test/bench/README.md).
 */
export class StacklessError extends Error {
  constructor(message: string, options: ErrorOptions = {}) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, options);
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** An expected refusal. Thrown anywhere in the journey, and rendered by renderError. */
export class GatewayError extends StacklessError {
  override readonly name = 'GatewayError';
  readonly code: ErrorCode;
  readonly status: number;
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, options: GatewayErrorOptions = {}) {
    const [status, message] = catalogue[code];
    super(options.message ?? message, { cause: options.cause });
    this.code = code;
    this.status = options.status ?? status;
    this.headers = options.headers ?? {};
  }

  /** Body of the response. */
  get body(): { code: ErrorCode; message: string; status: number } {
    return { code: this.code, message: this.message, status: this.status };
  }
}
