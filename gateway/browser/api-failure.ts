/** A response of the API that is not a success. `code` is one of the API's, or `unreachable`. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure';
  readonly code: string;
  readonly status: number;

  constructor({ code, message, status }: { code: string; message: string; status: number }) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

/** Message for a page whose request got no response. */
export const unreachable = {
  code: 'unreachable',
  message: 'The gateway does not respond. It may be restarting: try again in a moment.',
  status: 0,
};
