import type { IncomingMessage } from 'node:http';

/** Largest request body in bytes. */
export const maxBodyBytes = 1024 * 1024;

/** Whether a body follows the headers (RFC 9112 section 6.3). */
export function hasBody(req: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers;
  return encoding !== undefined || (length !== undefined && length !== '0');
}

/** A body has no meaning with GET and HEAD (RFC 9110 section 9.3.1): it is dropped and not passed on. */
export function carriesBody(req: IncomingMessage): boolean {
  return hasBody(req) && !isSafe(req);
}

/** Whether a request can be sent again without harm (RFC 9110 section 9.2.1); of OPTIONS none gets that far. */
export function isSafe({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Whether the client holds its body back until it is told to go on; HTTP/1.0 can't (RFC 9110 section 10.1.1). */
export function awaitsContinue(req: IncomingMessage): boolean {
  return req.httpVersion === '1.1' && req.headers.expect?.toLowerCase() === '100-continue';
}
