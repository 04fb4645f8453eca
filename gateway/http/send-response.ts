import type { ServerResponse } from 'node:http';
import type { ResponseHeaders } from './response-headers.ts';

/** Sends a complete response. Node omits the body for HEAD. */
export function sendJson(res: ServerResponse, status: number, headers: ResponseHeaders, json: string): void {
  res.end(beginJson(res, status, headers, json));
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
