import type { ServerResponse } from 'node:http';
import { helpLink } from '../http/help-link.ts';
import type { ResponseHeaders } from '../http/response-headers.ts';
import { endWithBody } from '../http/send-response.ts';
import { statusesWithoutContent, type BodyKind } from '../services/what-passes.ts';
import { errorCodeOf, isJsonBody } from './json-body.ts';
import { breach } from './upstream-error.ts';

export type UpstreamHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Larger than the longest page: a hundred pets, with names of 255 characters of four bytes each. */
export const maxBufferedBytes = 128 * 1024;

export interface ResponseOptions<Res extends ServerResponse> {
  /** Headers for the client, from those of the upstream and of the gateway. */
  responseHeaders: (res: Res, status: number, headers: UpstreamHeaders) => ResponseHeaders;
  /** Called with the code that an error of the service names. */
  onErrorCode: (res: Res, code: string) => void;
}

/**
 * The upstream's response on its way to the client. It is buffered until it is complete: an upstream that breaks off
 * leads to a clean 502, and a client that reads slowly occupies no connection to the upstream. A response larger than
 * the buffer is streamed.
 */
export class BufferedResponse<Res extends ServerResponse> {
  readonly #res: Res;
  readonly #options: ResponseOptions<Res>;
  #status = 0;
  #headers: UpstreamHeaders = {};
  #bodyKind: BodyKind = 'json';
  #chunks: Buffer[] = [];
  #bytes = 0;

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

  /** @param bodyKind what the body has to be */
  start(status: number, headers: UpstreamHeaders, bodyKind: BodyKind): void {
    this.#status = status;
    this.#headers = headers;
    this.#bodyKind = bodyKind;
    // A 304 may have the length of the content that it does without (RFC 9110 section 8.6).
    if (status !== 304 && Number(headers['content-length']) > maxBufferedBytes) {
      this.#res.writeHead(status, this.#clientHeaders(status, headers).toRaw());
      this.#res.flushHeaders();
    }
  }

  /** @returns false if the client has to read before more can be added */
  add(chunk: Buffer): boolean {
    if (this.streaming) return this.#res.write(chunk);
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes <= maxBufferedBytes) return true;
    this.#res.writeHead(this.#status, this.#clientHeaders(this.#status, this.#headers).toRaw());
    return this.#res.write(this.#takeChunks());
  }

  /** @throws GatewayError if the body is not what it has to be, and the client has not received a part of it */
  end(): void {
    if (this.streaming) {
      this.#res.end();
      return;
    }
    const body = this.#takeChunks();
    if (this.#hasContent() && this.#headers['content-encoding'] === undefined) this.#checkBody(body);
    if (this.#status >= 400) this.#explain(errorCodeOf(body));
    const headers = this.#completeHeaders(body);
    this.#res.writeHead(this.#status, headers.toRaw());
    endWithBody(this.#res, body);
  }

  #checkBody(body: Buffer): void {
    const isDescribed =
      this.#bodyKind === 'json' ? isJsonBody(body) : this.#bodyKind === 'other' || body.length === 0;
    if (isDescribed) return;
    const problem = this.#bodyKind === 'json' ? 'not JSON' : 'not empty, and not described';
    throw breach(
      this.#status,
      `the body of the upstream's response with status ${this.#status} is ${problem}`,
    );
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

  /** Headers of a response whose length is known. */
  #completeHeaders(body: Buffer): ResponseHeaders {
    if (this.#headers['content-length'] === undefined) {
      const headers = this.#clientHeaders(this.#status, this.#headers);
      if (this.#hasContent()) headers.set('Content-Length', String(body.length));
      return headers;
    }
    if (this.#status !== 204) return this.#clientHeaders(this.#status, this.#headers);
    return this.#clientHeaders(this.#status, { ...this.#headers, 'content-length': undefined });
  }

  #clientHeaders(status: number, headers: UpstreamHeaders): ResponseHeaders {
    return this.#options.responseHeaders(this.#res, status, headers);
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
