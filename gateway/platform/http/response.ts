import { STATUS_CODES, type IncomingMessage, type OutgoingHttpHeader, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Request, RequestHandler } from 'express';
import { GatewayError, type ErrorCode } from '../../errors.ts';
import type { ConnectionLimit } from './connection-limits.ts';

/**
 * Headers of a response, in the order in which they were first set. Names compare without regard to case (RFC 9110
 * section 5.1). Node's own setHeader builds an object keyed by lower-case names, which for a dozen headers costs more
 * than most steps of the journey; this list is handed to writeHead as it is.
 */
export class ResponseHeaders {
  /** Names and values in turn. */
  readonly #raw: OutgoingHttpHeader[];

  constructor(raw: readonly OutgoingHttpHeader[] = []) {
    this.#raw = [...raw];
  }

  /** Adds a header, or replaces its value. */
  set(name: string, value: OutgoingHttpHeader): void {
    const index = this.#indexOf(name);
    if (index === undefined) this.#raw.push(name, value);
    else this.#raw[index + 1] = value;
  }

  /** Adds a header, or a further element to the list that is its value (RFC 9110 section 5.3). */
  append(name: string, value: string): void {
    const index = this.#indexOf(name);
    if (index === undefined) this.#raw.push(name, value);
    else this.#raw[index + 1] = `${[this.#raw[index + 1]].flat().join(', ')}, ${value}`;
  }

  setAll(headers: Readonly<Record<string, string>>): void {
    for (const name in headers) this.set(name, headers[name] ?? '');
  }

  has(name: string): boolean {
    return this.#indexOf(name) !== undefined;
  }

  copy(): ResponseHeaders {
    return new ResponseHeaders(this.#raw);
  }

  /** Names and values in turn, as Node's writeHead takes them. The caller must not change the list. */
  toRaw(): OutgoingHttpHeader[] {
    return this.#raw;
  }

  /** Index of a name. Looks at every other entry: a value, such as a client's request id, may read like a name. */
  #indexOf(name: string): number | undefined {
    for (let index = 0; index < this.#raw.length; index += 2) {
      if (isSameName(this.#raw[index], name)) return index;
    }
    return undefined;
  }
}

function isSameName(known: OutgoingHttpHeader | undefined, name: string): boolean {
  if (known === name) return true;
  return (
    typeof known === 'string' && known.length === name.length && known.toLowerCase() === name.toLowerCase()
  );
}

/** Longer bodies are not copied to be joined with the headers. */
const maxJoinedBytes = 2048;

/** Sends a complete response. Node omits the body for HEAD. */
export function sendJson(res: ServerResponse, status: number, headers: ResponseHeaders, json: string): void {
  endWithBody(res, beginJson(res, status, headers, json));
}

/**
 * Sends the whole body. Node joins the headers with a short text, and sends both by write; with a Buffer it would call
 * writev, and a request would take 3 % more CPU time. As Latin-1, a character is a byte, so that no byte changes.
 */
export function endWithBody(res: ServerResponse, body: Buffer): void {
  if (body.length <= maxJoinedBytes) res.end(body.toString('latin1'), 'latin1');
  else res.end(body);
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
  // With its own reason phrase: a writeHead that failed may have left another one.
  res.writeHead(status, STATUS_CODES[status] ?? '', headers.toRaw());
  return body;
}

const lingerMs = 2000;

/**
 * Ends a response that is written, while its request's body may still arrive: more than is worth reading. Closing at once
 * would reset the connection, and could destroy the response before a client that still sends has read it (RFC 9112
 * section 9.6), so reading goes on for a while. The response has to be one that closes the connection.
 */
export function endOnceRead(req: IncomingMessage, res: ServerResponse): void {
  req.resume();
  const finish = () => {
    clearTimeout(timer);
    res.end();
  };
  const timer = setTimeout(finish, lingerMs);
  req.once('end', finish).once('close', finish);
}

/** Time for which the rest of what the client sends is read: a reset could destroy the response. */
const rawLingerMs = 1000;

/**
 * Sends the response to what became no request, and closes the connection.
 * @param method of the request, if it became one
 */
export function sendRawResponse(
  socket: Socket,
  error: GatewayError,
  headers: Readonly<Record<string, string>> = {},
  method?: string,
): void {
  const body = JSON.stringify(error.body);
  const lines = Object.entries({
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    Date: new Date().toUTCString(),
    Connection: 'close',
    ...securityHeaders,
    ...headers,
    ...error.headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${method === 'HEAD' ? '' : body}`,
  );
  socket.resume();
  setTimeout(() => socket.destroy(), rawLingerMs).unref();
}

export function tooManyConnections(limit: ConnectionLimit): GatewayError {
  const headers = { 'Retry-After': '1' };
  switch (limit) {
    case 'total':
      return new GatewayError('service_unavailable', {
        message: 'The gateway has too many connections. Retry shortly.',
        headers,
      });
    case 'address':
      return new GatewayError('rate_limit_exceeded', {
        message: 'Too many connections from this address. Close some that are idle.',
        headers,
      });
  }
}

const parserErrors = new Map<string | undefined, ErrorCode>([
  ['HPE_HEADER_OVERFLOW', 'headers_too_large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', 'payload_too_large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', 'request_timeout'],
]);

/** Translates an error of Node's parser or timers. */
export function parserError(error: NodeJS.ErrnoException): GatewayError {
  const code = parserErrors.get(error.code);
  return code === undefined ? new GatewayError('bad_request', { cause: error }) : new GatewayError(code);
}

/**
 * Value of the Link header that leads to what the documentation says about an error code (RFC 8288).
 * @param baseUrl where clients see the gateway; empty for a path
 */
export function helpLink(code: string, baseUrl = ''): string {
  return `<${baseUrl}/docs#${code}>; rel="help"`;
}

/**
 * Headers of every response, also of those to what is no request (OWASP REST Security Cheat Sheet). A response is for one
 * caller, so nobody may store it; and it is JSON, whatever a browser makes of it. The upstream's own copies are dropped.
 */
export const securityHeaders = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
} as const;

interface ServedFile {
  text: string | Promise<string>;
  contentType: string;
  headers: Readonly<Record<string, string>>;
}

/** Serves texts by their paths. @param find finds what is at a path, with the parameters of the query */
export function serveFiles(
  find: (path: string, query: Readonly<Record<string, unknown>>, req: Request) => ServedFile | undefined,
): RequestHandler {
  return async function serveFiles(req, res, next) {
    const isRead = req.method === 'GET' || req.method === 'HEAD';
    const file = isRead ? find(req.baseUrl + req.path, req.query, req) : undefined;
    if (file === undefined) return next();
    // A Buffer, since Express adds a charset to the type of a text.
    res.set({ ...file.headers, 'Content-Type': file.contentType }).send(Buffer.from(await file.text));
  };
}
