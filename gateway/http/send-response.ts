import type { ServerResponse } from 'node:http';
import type { ResponseHeaders } from './response-headers.ts';

/** Up to this size, copying a body costs less than handing two pieces to the system. */
const copiedBytes = 16 * 1024;

/**
 * Ends an answer of which nothing has been sent but perhaps its head. Node writes a string together with the head, and a
 * buffer after it; of strings, Latin-1 is what it writes fastest, so bytes travel as characters.
 */
export function endTogether(res: ServerResponse, body: Buffer): void {
  if (body.length <= copiedBytes) res.end(body.toString('latin1'), 'latin1');
  else res.end(body);
}

/** Sends an answer as a whole. To HEAD, Node leaves the body out. */
export function sendJson(res: ServerResponse, status: number, headers: ResponseHeaders, json: string): void {
  endTogether(res, beginJson(res, status, headers, json));
}

/** @returns the body, which is still to be sent */
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
