import type { ServerResponse } from 'node:http';
import type { ResponseHeaders } from './response-headers.ts';

/** Up to this size, copying a body costs less than passing two buffers to the system. */
const maxCopiedBytes = 16 * 1024;

/**
 * Ends a response whose body has not been started. Node writes a string together with the headers, but a buffer after
 * them. Latin-1 is the encoding that Node writes fastest, so each byte travels as one character.
 */
export function endInOneWrite(res: ServerResponse, body: Buffer): void {
  if (body.length <= maxCopiedBytes) res.end(body.toString('latin1'), 'latin1');
  else res.end(body);
}

/** Sends a complete response. Node omits the body for HEAD. */
export function sendJson(res: ServerResponse, status: number, headers: ResponseHeaders, json: string): void {
  endInOneWrite(res, beginJson(res, status, headers, json));
}

/** Sends the headers only. @returns the body, which is still to be sent */
export function beginJson(
  res: ServerResponse,
  status: number,
  headers: ResponseHeaders,
  json: string,
): Buffer {
  const body = Buffer.from(json);
  headers.set('Content-Type', 'application/json; charset=utf-8');
  headers.set('Content-Length', String(body.length));
  res.writeHead(status, headers.toRaw());
  return body;
}
