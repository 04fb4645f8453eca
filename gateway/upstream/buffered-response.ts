import type { ServerResponse } from 'node:http';
import { helpLink } from '../http/help-link.ts';
import type { ResponseHeaders } from '../http/response-headers.ts';
import { endWithBody } from '../http/send-response.ts';

export type UpstreamHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Larger than the longest page: a hundred pets, with names of 255 characters of four bytes each. */
export const maxBufferedBytes = 128 * 1024;

/** Statuses of responses without content (RFC 9110 section 6.4.1). */
const statusesWithoutContent: ReadonlySet<number> = new Set([204, 304]);

export interface ResponseOptions<Res extends ServerResponse> {
  /** Headers for the client, from those of the upstream and of the gateway. */
  responseHeaders: (res: Res, headers: UpstreamHeaders) => ResponseHeaders;
  /** Called with the code that an error of the service names. */
  onErrorCode: (res: Res, code: string) => void;
}

/**
 * The upstream's response on its way to the client. A small one whose length is known is buffered until it is complete: an
 * upstream that breaks off leads to a clean 502, and a client that reads slowly occupies no connection to the upstream. Any
 * other is streamed as it comes.
 */
export class BufferedResponse<Res extends ServerResponse> {
  readonly #res: Res;
  readonly #options: ResponseOptions<Res>;
  #status = 0;
  #headers: UpstreamHeaders = {};
  #chunks: Buffer[] = [];

  constructor(res: Res, options: ResponseOptions<Res>) {
    this.#res = res;
    this.#options = options;
  }

  get started(): boolean {
    return this.#status !== 0;
  }

  /** Undefined until it has started. */
  get status(): number | undefined {
    return this.started ? this.#status : undefined;
  }

  /** Whether the client has received a part of it. */
  get streaming(): boolean {
    return this.#res.headersSent;
  }

  start(status: number, headers: UpstreamHeaders): void {
    this.#status = status;
    this.#headers = headers;
    if (!this.#hasContent() || Number(headers['content-length']) <= maxBufferedBytes) return;
    this.#begin();
    // flushHeaders() would send them as UTF-8, in which each octet above 0x7F becomes two.
    this.#res.write('', 'latin1');
  }

  /** @returns false if the client has to read before more can be added */
  add(chunk: Buffer): boolean {
    if (this.streaming) return this.#res.write(chunk);
    this.#chunks.push(chunk);
    return true;
  }

  end(): void {
    if (this.streaming) {
      this.#res.end();
      return;
    }
    const body = this.#takeChunks();
    if (this.#status >= 400) this.#explain(errorCodeOf(body));
    this.#begin();
    endWithBody(this.#res, body);
  }

  #begin(): void {
    // A 204 has no length (RFC 9110 section 8.6).
    const headers = this.#status === 204 ? { ...this.#headers, 'content-length': undefined } : this.#headers;
    this.#res.writeHead(this.#status, this.#options.responseHeaders(this.#res, headers).toRaw());
  }

  #explain(code: string | undefined): void {
    if (code !== undefined) this.#options.onErrorCode(this.#res, code);
    // The response to HEAD does not hold its code: the link leads to all of them.
    const anchor = code ?? (this.#res.req.method === 'HEAD' ? 'errors' : undefined);
    if (anchor === undefined) return;
    // With those of the service, so that all become absolute in one way.
    const { link = [] } = this.#headers;
    this.#headers = { ...this.#headers, link: [link, helpLink(anchor)].flat().join(', ') };
  }

  #hasContent(): boolean {
    return !statusesWithoutContent.has(this.#status) && this.#res.req.method !== 'HEAD';
  }

  #takeChunks(): Buffer {
    const [first] = this.#chunks;
    const whole = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    this.#chunks = [];
    return whole;
  }
}

/** The code at the beginning of an Error body; undefined for a body that does not begin so. */
function errorCodeOf(body: Buffer): string | undefined {
  return /^\s*\{\s*"code"\s*:\s*"([a-z_]{1,40})"/.exec(body.toString('latin1', 0, 80))?.[1];
}
