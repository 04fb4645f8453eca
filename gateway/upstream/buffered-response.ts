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

/**
 * The upstream's response on its way to the client. It is buffered until it is complete: an upstream that breaks off
 * leads to a clean 502, and a client that reads slowly occupies no connection to the upstream. A response larger than
 * the buffer is streamed.
 */
export class BufferedResponse {
  readonly #res: ServerResponse;
  readonly #clientHeaders: (status: number, headers: UpstreamHeaders) => ResponseHeaders;
  #status = 0;
  #headers: UpstreamHeaders = {};
  #bodyKind: BodyKind = 'json';
  #chunks: Buffer[] = [];
  #bytes = 0;

  /** @param clientHeaders makes the headers for the client from those of the upstream */
  constructor(
    res: ServerResponse,
    clientHeaders: (status: number, headers: UpstreamHeaders) => ResponseHeaders,
  ) {
    this.#res = res;
    this.#clientHeaders = clientHeaders;
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
    if (Number(headers['content-length']) > maxBufferedBytes) {
      this.#res.writeHead(status, this.#clientHeaders(this.#status, headers).toRaw());
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
    } else {
      const body = this.#takeChunks();
      if (this.#hasContent() && this.#headers['content-encoding'] === undefined) this.#checkBody(body);
      const code = this.#status < 400 ? undefined : (errorCodeOf(body) ?? this.#codeWithoutBody());
      if (code !== undefined) this.#addLink(helpLink(code));
      this.#res.writeHead(this.#status, this.#completeHeaders(body).toRaw());
      endWithBody(this.#res, body);
    }
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

  /** The response to HEAD does not hold its code: the link leads to all of them. */
  #codeWithoutBody(): string | undefined {
    return this.#res.req.method === 'HEAD' ? 'errors' : undefined;
  }

  /** Adds it to the upstream's, so that all become absolute in one way. */
  #addLink(link: string): void {
    const { link: links = [] } = this.#headers;
    this.#headers = { ...this.#headers, link: [links, link].flat().join(', ') };
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
