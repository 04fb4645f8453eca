import { promisify } from 'node:util';
import { gzip, type InputType, type ZlibOptions } from 'node:zlib';
import type { Request } from 'express';
import { acceptedEncoding } from './encoded-text.ts';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Compression of the bodies of services. */
export interface Compression {
  /** Whether a response depends on Accept-Encoding. @param headers of the service's response */
  applies(headers: Headers, body: Buffer): boolean;
  /**
   * Compresses a body with gzip, outside the event loop.
   * @returns undefined if the body is to be sent as it is: the client wants that, or too many are compressed at the moment.
   * Never rejects.
   */
  compress(req: Request, body: Buffer): Promise<Buffer | undefined> | undefined;
}

/** Of the four threads of libuv's pool, which also finds addresses and reads files, two stay free. */
const maxAtOnce = 2;

/** 35 µs for a page of 100 pets, 8.2 to 1.1 kB. Level 6 and Brotli take two to four times as long, for hardly less. */
const level = 1;
const gzipText = promisify<InputType, ZlibOptions, Buffer>(gzip);

const compressible = /^(?:text\/(?!event-stream)|application\/(?:json|xml|[\w.-]+\+(?:json|xml)) *(?:;|$))/i;

/** @param options.compressMinBytes 0: nothing is compressed */
export function createCompression({ compressMinBytes }: { compressMinBytes: number }): Compression {
  const minBytes = compressMinBytes === 0 ? Infinity : compressMinBytes;
  let running = 0;

  async function encode(body: Buffer): Promise<Buffer | undefined> {
    running += 1;
    try {
      return await gzipText(body, { level });
    } catch {
      return undefined;
    } finally {
      running -= 1;
    }
  }

  return {
    applies: (headers, body) => body.length >= minBytes && mayBeCompressed(headers),
    compress(req, body) {
      if (running >= maxAtOnce || req.headers['accept-encoding'] === undefined) return undefined;
      return acceptedEncoding(req, ['gzip', 'identity']) === 'gzip' ? encode(body) : undefined;
    },
  };
}

/** A strong entity tag names these very bytes (RFC 9110 section 8.8.1), and no-transform forbids others (RFC 9111). */
function mayBeCompressed(headers: Headers): boolean {
  if (headers['content-encoding'] !== undefined || headers['content-range'] !== undefined) return false;
  const { etag = 'W/' } = headers;
  if (!String(etag).startsWith('W/')) return false;
  if (/\bno-transform\b/i.test(String(headers['cache-control']))) return false;
  return compressible.test(String(headers['content-type']));
}
