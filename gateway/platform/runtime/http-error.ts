import { StacklessError } from './stackless-error.ts';

/** Closed list of a service's errors, by code. A code is never renamed: clients switch on it. */
export type ErrorCatalogue<Code extends string> = Readonly<
  Record<Code, readonly [status: number, message: string]>
>;

export interface HttpErrorOptions {
  /** Further response headers, such as Retry-After. */
  headers?: Record<string, string>;
  /** Logged, but never sent. */
  cause?: unknown;
  /** Replaces the catalogue's message if more can be said safely. */
  message?: string;
  /** Replaces the catalogue's status. */
  status?: number;
}

/** An expected refusal, as the Error of the specification (section 2.5). Anything else that is thrown is a bug. */
export class HttpError<Code extends string> extends StacklessError {
  readonly code: Code;
  readonly status: number;
  readonly headers: Record<string, string>;

  constructor(catalogue: ErrorCatalogue<Code>, code: Code, options: HttpErrorOptions = {}) {
    const [status, message] = catalogue[code];
    super(options.message ?? message, { cause: options.cause });
    this.code = code;
    this.status = options.status ?? status;
    this.headers = options.headers ?? {};
  }

  /** Body of the response. */
  get body(): { code: Code; message: string; status: number } {
    return { code: this.code, message: this.message, status: this.status };
  }
}
