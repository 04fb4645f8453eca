/** A response of the API that is not a success. `code` is one of the API's, or `unreachable`. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure';
  readonly code: string;
  readonly status: number;
  /** Time to wait before the next attempt; 0 if the API does not say. */
  readonly retryAfterMs: number;

  constructor(of: { code: string; message: string; status?: number; retryAfterMs?: number }) {
    super(of.message);
    this.code = of.code;
    this.status = of.status ?? 0;
    this.retryAfterMs = of.retryAfterMs ?? 0;
  }

  /** @returns the same failure in other words */
  saying(message: string) {
    const { code, status, retryAfterMs } = this;
    return new ApiFailure({ code, message, status, retryAfterMs });
  }
}

/** Message for a page whose request got no response. */
export const unreachable = {
  code: 'unreachable',
  message: 'The gateway does not respond. It may be restarting: try again in a moment.',
};
