import type { IncomingMessage, ServerResponse } from 'node:http';
import { matchesTag, weakTag } from '../http/encoded-text.ts';
import { helpLink } from '../http/help-link.ts';
import { isSafe } from '../http/request-body.ts';
import type { ResponseHeaders } from '../http/response-headers.ts';
import { endWithBody } from '../http/send-response.ts';
import { statusesWithoutContent, type BodyKind } from '../services/what-passes.ts';
import { errorCodeOf, isJsonBody } from './json-body.ts';
import { breach } from './upstream-error.ts';

export type UpstreamHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Larger than the longest page: a hundred pets, with names of 255 characters of four bytes each. */
export const maxBufferedBytes = 128 * 1024;

/** Whether only the content tells if a HEAD is to get 304: the request is then sent as GET. */
export function needsContent({ method, headers }: IncomingMessage): boolean {
  return method === 'HEAD' && headers['if-none-match'] !== undefined;
}

export interface ResponseOptions<Res extends ServerResponse> {
  /** Headers for the client, from those of the upstream and of the gateway. */
  responseHeaders: (res: Res, status: number, headers: UpstreamHeaders) => ResponseHeaders;
  /** Called with the code that an error of the service names. */
  onErrorCode: (res: Res, code: string) => void;
  /** Called before a 304 is sent. Never rejects. */
  onNotModified: (res: Res) => Promise<void>;
  /** Whether the response depends on Accept-Encoding. */
  isCompressible: (headers: UpstreamHeaders, body: Buffer) => boolean;
  /** @returns undefined if the body is sent as it is */
  compress: (res: Res, body: Buffer) => Promise<Buffer | undefined> | undefined;
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
    const canCompress = this.#options.isCompressible(this.#headers, body);
    if (canCompress) this.#addToList('vary', 'Accept-Encoding');
    const { 'if-none-match': condition } = this.#res.req.headers;
    const tag = this.#entityTag(body);
    if (this.#status === 304) void this.#sendNotModified(this.#headers);
    else if (condition !== undefined && tag !== undefined && matchesTag(condition, tag)) {
      this.#status = 304;
      const { vary, deprecation, sunset } = this.#headers;
      void this.#sendNotModified({ vary, deprecation, sunset, etag: tag });
    } else this.#sendBody(body, tag, canCompress);
  }

  /** That of the service, or else a weak one, which holds for each content coding. Undefined if the content is not known. */
  #entityTag(body: Buffer): string | undefined {
    if (this.#status !== 200 || !isSafe(this.#res.req)) return undefined;
    const { etag, link } = this.#headers;
    if (etag !== undefined) return String(etag);
    if (this.#res.req.method === 'HEAD' && !needsContent(this.#res.req)) return undefined;
    return weakTag(body, link?.toString());
  }

  /** With the fields that RFC 9110 section 15.4.5 asks for, and those that the client must not miss. */
  async #sendNotModified(headers: UpstreamHeaders): Promise<void> {
    await this.#options.onNotModified(this.#res);
    if (this.#res.destroyed) return;
    this.#res.writeHead(304, this.#clientHeaders(304, headers).toRaw()).end();
  }

  #sendBody(body: Buffer, tag: string | undefined, canCompress: boolean): void {
    const headers = this.#completeHeaders(body);
    if (tag !== undefined && this.#headers['etag'] === undefined) headers.set('ETag', tag);
    const compressed =
      canCompress && this.#hasContent() ? this.#options.compress(this.#res, body) : undefined;
    if (compressed === undefined) this.#endWith(headers, body);
    else void this.#sendCompressed(headers, body, compressed);
  }

  async #sendCompressed(
    headers: ResponseHeaders,
    body: Buffer,
    compressed: Promise<Buffer | undefined>,
  ): Promise<void> {
    const content = await compressed;
    if (this.#res.destroyed) return;
    if (content !== undefined) {
      headers.set('Content-Encoding', 'gzip');
      headers.set('Content-Length', String(content.length));
    }
    this.#endWith(headers, content ?? body);
  }

  #endWith(headers: ResponseHeaders, body: Buffer): void {
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
    if (anchor !== undefined) this.#addToList('link', helpLink(anchor));
  }

  /** Adds an element to a header of the upstream. For links, so that all become absolute in one way. */
  #addToList(name: 'link' | 'vary', element: string): void {
    const { [name]: elements = [] } = this.#headers;
    this.#headers = { ...this.#headers, [name]: [elements, element].flat().join(', ') };
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
