import type { ResponseHeaders } from '../http/response-headers.ts';

/*
 * Decides which headers pass the gateway in either direction. The gateway sets the headers that the upstream trusts, and
 * drops a client's own copies of them here.
 */

/** For one connection only (RFC 9110 section 7.6.1). A proxy that forwards them can be desynchronised. */
const hopByHop = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** Statements about the origin of a request. Only those of trusted proxies are believed. */
const origin = ['forwarded', 'x-real-ip'];
const originPrefix = 'x-forwarded-';

/** Set by the gateway, whatever the client sends. */
const reserved = ['authorization', 'expect', 'host', 'x-request-id'];

const notForwarded = new Set([...hopByHop, ...reserved, ...origin]);

/** A client's trace context (W3C) is never continued, also not by the pets service behind a gateway that exports no traces. */
const notForwardedOfClient = new Set([...notForwarded, 'traceparent', 'tracestate', 'baggage']);
/** Of a trusted proxy. A gateway that exports traces sends its own span as the parent. */
const notForwardedInTrace = new Set([...notForwarded, 'traceparent', 'tracestate']);

/**
 * Headers of a response that the client gets: those that describe the response and the resource, and nothing that
 * commands a browser or a proxy in front of the gateway, such as Set-Cookie or X-Accel-Redirect. The gateway sets all
 * others itself.
 */
const returned = new Set([
  'allow',
  'content-encoding',
  'content-language',
  'content-length',
  'content-type',
  'deprecation',
  'etag',
  'idempotency-replayed',
  'last-modified',
  'link',
  'location',
  'retry-after',
  'sunset',
  'vary',
]);

export interface ForwardedRequest {
  /** Names and values in turn, as received. */
  rawHeaders: readonly string[];
  /** Address of the peer that the connection is from. */
  peerAddress: string;
  /** Whether the peer is a trusted proxy, so that its statements about the origin are forwarded. */
  peerIsTrusted: boolean;
  /** Value of Authorization: the internal token, which names the caller. */
  authorization: string;
  requestId: string;
  hasBody: boolean;
  /** Whether the gateway sends its own trace context. */
  isTraced?: boolean;
}

/** @returns headers for the upstream, names and values in turn, without Host, which the transport sets */
export function upstreamRequestHeaders(request: ForwardedRequest): string[] {
  const { rawHeaders, peerAddress, peerIsTrusted } = request;
  const named = namedInConnection(rawHeaders);
  const dropped = droppedNames(request);
  const headers: string[] = [];
  let host = '';
  let forwardedFor = '';
  let forwardedHost = '';
  let forwardedProto = '';
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase();
    const value = rawHeaders[index + 1] ?? '';
    if (name === 'host') host = value;
    if (peerIsTrusted && !named.has(name)) {
      if (name === 'x-forwarded-for') forwardedFor += forwardedFor === '' ? value : `, ${value}`;
      if (name === 'x-forwarded-host') forwardedHost = value;
      if (name === 'x-forwarded-proto') forwardedProto = value;
    }
    // Servers that pass headers on as variables, as CGI does, read an underscore as a hyphen.
    const meant = name.includes('_') ? name.replaceAll('_', '-') : name;
    if (dropped.has(meant) || meant.startsWith(originPrefix) || named.has(name)) continue;
    if (name !== meant && meant === 'content-length') continue;
    if (name === 'content-length' && !request.hasBody) continue;
    headers.push(name, value);
  }
  headers.push(
    'authorization',
    request.authorization,
    'x-request-id',
    request.requestId,
    'x-forwarded-for',
    forwardedFor === '' ? peerAddress : `${forwardedFor}, ${peerAddress}`,
    'x-forwarded-host',
    forwardedHost === '' ? host : forwardedHost,
    'x-forwarded-proto',
    forwardedProto === '' ? 'http' : forwardedProto,
  );
  return headers;
}

function droppedNames({ isTraced = false, peerIsTrusted }: ForwardedRequest): ReadonlySet<string> {
  if (!peerIsTrusted) return notForwardedOfClient;
  return isTraced ? notForwardedInTrace : notForwarded;
}

/**
 * Whether headers for the upstream hold an Idempotency-Key. The client's own headers do not tell: it may have named the
 * header in Connection, and then it is not forwarded.
 * @param headers names and values in turn
 */
export function hasIdempotencyKey(headers: readonly string[]): boolean {
  return headers.some((text, index) => index % 2 === 0 && text === 'idempotency-key');
}

/** Adds the headers of the upstream's response that the client may see. Their names are in lower case. */
export function addClientHeaders(
  response: ResponseHeaders,
  headers: Readonly<Record<string, string | string[] | undefined>>,
): void {
  const connection = headers['connection'];
  const named = connection === undefined ? noNames : new Set(tokens(String(connection)));
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value !== undefined && returned.has(name) && !named.has(name)) response.set(name, value);
  }
}

const noNames: ReadonlySet<string> = new Set();

/** Names in Connection, without Content-Length: if that were dropped, both ends would disagree about the body. */
function namedInConnection(rawHeaders: readonly string[]): ReadonlySet<string> {
  let named: Set<string> | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() !== 'connection') continue;
    named ??= new Set();
    for (const name of tokens(rawHeaders[index + 1] ?? '')) named.add(name);
  }
  named?.delete('content-length');
  return named ?? noNames;
}

function tokens(value: string): string[] {
  return value.split(',').map((token) => token.trim().toLowerCase());
}
