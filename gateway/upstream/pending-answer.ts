import type { ServerResponse } from 'node:http';
import { endTogether } from '../http/end-together.ts';
import { clientResponseHeaders } from './forwarded-headers.ts';

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** More than the longest page of pets: a hundred of them, with names of 255 characters of four bytes each. */
export const wholeAnswerBytes = 128 * 1024;

/**
 * An answer on its way to the client. It is kept back until it is whole, so that an upstream that dies half-way
 * makes a clean 502, and a client that reads slowly keeps no connection to the upstream busy; one too large for that is
 * passed on as it comes.
 */
export class PendingAnswer {
  readonly #res: ServerResponse;
  #status = 0;
  #headers: ResponseHeaders = {};
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(res: ServerResponse) {
    this.#res = res;
  }

  get begun(): boolean {
    return this.#status !== 0;
  }

  /** Whether the client has seen some of it. */
  get passed(): boolean {
    return this.#res.headersSent;
  }

  begin(status: number, headers: ResponseHeaders): void {
    this.#status = status;
    this.#headers = headers;
    if (Number(headers['content-length']) > wholeAnswerBytes) {
      this.#writeHead();
      this.#res.flushHeaders();
    }
  }

  /** @returns false where the client has to read before there may be more */
  add(chunk: Buffer): boolean {
    if (this.passed) return this.#res.write(chunk);
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes <= wholeAnswerBytes) return true;
    this.#writeHead();
    return this.#res.write(this.#takeChunks());
  }

  end(): void {
    if (this.passed) {
      this.#res.end();
    } else {
      this.#writeHead();
      endTogether(this.#res, this.#takeChunks());
    }
  }

  #takeChunks(): Buffer {
    const [first] = this.#chunks;
    const whole = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    this.#chunks = [];
    return whole;
  }

  #writeHead(): void {
    this.#res.statusCode = this.#status;
    for (const [name, value] of Object.entries(clientResponseHeaders(this.#headers))) {
      // There is no content that it could be the length of (RFC 9110 section 8.6).
      if (this.#status !== 204 || name !== 'content-length') this.#res.setHeader(name, value);
    }
  }
}
