import type { ServerResponse } from 'node:http';
import type { ResponseHeaders } from '../http/response-headers.ts';
import { endTogether } from '../http/send-response.ts';

export type UpstreamHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** More than the longest page of pets: a hundred of them, with names of 255 characters of four bytes each. */
export const wholeAnswerBytes = 128 * 1024;

/** Statuses of answers without content: there is nothing that a Content-Length could be the length of (RFC 9110 section 8.6). */
export const withoutContent = new Set([204, 304]);

/**
 * An answer on its way to the client. It is kept back until it is whole, so that an upstream that dies half-way
 * makes a clean 502, and a client that reads slowly keeps no connection to the upstream busy; one too large for that is
 * passed on as it comes.
 */
export class PendingAnswer {
  readonly #res: ServerResponse;
  readonly #answerHeaders: (headers: UpstreamHeaders) => ResponseHeaders;
  #status = 0;
  #headers: UpstreamHeaders = {};
  #chunks: Buffer[] = [];
  #bytes = 0;

  /** @param answerHeaders headers for the client, by those of the upstream */
  constructor(res: ServerResponse, answerHeaders: (headers: UpstreamHeaders) => ResponseHeaders) {
    this.#res = res;
    this.#answerHeaders = answerHeaders;
  }

  get begun(): boolean {
    return this.#status !== 0;
  }

  /** Whether the client has seen some of it. */
  get passed(): boolean {
    return this.#res.headersSent;
  }

  begin(status: number, headers: UpstreamHeaders): void {
    this.#status = status;
    this.#headers = headers;
    if (Number(headers['content-length']) > wholeAnswerBytes) {
      this.#res.writeHead(status, this.#answerHeaders(headers).toRaw());
      this.#res.flushHeaders();
    }
  }

  /** @returns false where the client has to read before there may be more */
  add(chunk: Buffer): boolean {
    if (this.passed) return this.#res.write(chunk);
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes <= wholeAnswerBytes) return true;
    this.#res.writeHead(this.#status, this.#answerHeaders(this.#headers).toRaw());
    return this.#res.write(this.#takeChunks());
  }

  end(): void {
    if (this.passed) {
      this.#res.end();
    } else {
      const body = this.#takeChunks();
      this.#res.writeHead(this.#status, this.#wholeHeaders(body).toRaw());
      endTogether(this.#res, body);
    }
  }

  #wholeHeaders(body: Buffer): ResponseHeaders {
    if (this.#headers['content-length'] === undefined) {
      const headers = this.#answerHeaders(this.#headers);
      const hasContent = !withoutContent.has(this.#status) && this.#res.req.method !== 'HEAD';
      if (hasContent) headers.set('Content-Length', String(body.length));
      return headers;
    }
    if (this.#status !== 204) return this.#answerHeaders(this.#headers);
    return this.#answerHeaders({ ...this.#headers, 'content-length': undefined });
  }

  #takeChunks(): Buffer {
    const [first] = this.#chunks;
    const whole = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    this.#chunks = [];
    return whole;
  }
}
