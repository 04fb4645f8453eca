import type { Request, Response } from 'express';
import { acceptedEncoding, type EncodedText, type Encoding } from '../http/encoded-text.ts';
import type { ResponseHeaders } from '../http/response-headers.ts';

interface EncodedContent {
  /** Type of the text, with its charset. */
  contentType: string;
  /** Content codings that there are, in the order of preference; without it, all. */
  codings?: readonly Encoding[];
  encode(encoding: Encoding): EncodedText | Promise<EncodedText>;
}

/**
 * Responds to GET or HEAD with a text: compressed if the client can decompress it, and with 304 if the client has it
 * (If-None-Match, RFC 9110 section 13.1.2).
 * @param headers of the response, which say how long it may be cached
 */
export async function sendEncodedText(
  req: Request,
  res: Response,
  headers: ResponseHeaders,
  { contentType, codings, encode }: EncodedContent,
): Promise<void> {
  const encoding = acceptedEncoding(req, codings);
  const { body, etag } = await encode(encoding);
  headers.set('Vary', 'Accept-Encoding');
  headers.set('ETag', etag);
  // Express compares the request's conditions with the header that is set on the response itself.
  res.setHeader('ETag', etag);
  const isFresh = req.fresh;
  res.removeHeader('ETag');
  if (isFresh) {
    res.writeHead(304, headers.toRaw()).end();
    return;
  }
  if (encoding !== 'identity') headers.set('Content-Encoding', encoding);
  headers.set('Content-Type', contentType);
  headers.set('Content-Length', String(body.length));
  res.writeHead(200, headers.toRaw()).end(body);
}
