import type { ResponseHeaders } from '../platform/http/response.ts';

/*
 * Decides which headers pass the gateway in either direction. The gateway sets the headers that the upstream trusts, and
 * drops a client's own copies of them here.
 */

/**
 * Headers of a request that the upstream gets: those that say what is asked for. The header parameters of the operation
 * are added, and all that are not reserved for a service without a description. Any other could mean something to a server
 * behind the gateway that the gateway has not checked, as X-HTTP-Method-Override, X-Original-URL, Cookie and the
 * client-address headers of others do.
 */
const forwarded = words(`
  accept accept-encoding accept-language content-encoding content-language content-length content-type
  if-match if-modified-since if-none-match if-range if-unmodified-since range
  idempotency-key prefer user-agent
`);

/** A client's trace context (W3C) is never continued, also not by a service behind a gateway that exports no traces. */
const forwardedOfClient = new Set(forwarded);
const forwardedOfProxy = new Set([...forwarded, 'traceparent', 'tracestate', 'baggage']);
/** Of a trusted proxy. A gateway that exports traces sends its own span as the parent. */
const forwardedInTrace = new Set([...forwarded, 'baggage']);

const noNames: ReadonlySet<string> = new Set();

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
  /** Header in lower case that may hold the API key. */
  keyHeader?: string | undefined;
  /** Header parameters of the operation, in lower case; all: every header that is not reserved. */
  described?: ReadonlySet<string> | 'all' | undefined;
  /** Whether the gateway sends its own trace context. */
  isTraced?: boolean;
}

/** @returns headers for the upstream, names and values in turn, without Host, which the transport sets */
export function upstreamRequestHeaders(request: ForwardedRequest): string[] {
  const { rawHeaders, peerAddress, peerIsTrusted, described = noNames } = request;
  const named = namedInConnection(rawHeaders);
  const passing = passingNames(request);
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
    const isDescribed = described === 'all' ? !isReservedInRequest(name) : described.has(name);
    if ((!passing.has(name) && !isDescribed) || named.has(name) || name === request.keyHeader) continue;
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
    'x-forwarded-proto',
    forwardedProto === '' ? 'http' : forwardedProto,
  );
  // HTTP/1.0 needs no Host, and HTTP/1.1 allows an empty one.
  const knownHost = forwardedHost === '' ? host : forwardedHost;
  if (knownHost !== '') headers.push('x-forwarded-host', knownHost);
  return headers;
}

function passingNames({ isTraced = false, peerIsTrusted }: ForwardedRequest): ReadonlySet<string> {
  if (!peerIsTrusted) return forwardedOfClient;
  return isTraced ? forwardedInTrace : forwardedOfProxy;
}

/**
 * Whether headers for the upstream hold an Idempotency-Key. The client's own headers do not tell: it may have named the
 * header in Connection, and then it is not forwarded.
 * @param headers names and values in turn
 */
export function hasIdempotencyKey(headers: readonly string[]): boolean {
  return headers.some((text, index) => index % 2 === 0 && text === 'idempotency-key');
}

/**
 * Adds the headers of the upstream's response, but for those of a connection, the gateway's own, and those that command a
 * browser or a proxy in front of the gateway. Their names are in lower case.
 * @param setCookie whether the response may set cookies
 */
export function addClientHeaders(
  response: ResponseHeaders,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  setCookie = false,
): void {
  const connection = headers['connection'];
  // What nearly every service says: it names no header.
  const named =
    connection === undefined || connection === 'keep-alive' ? noNames : new Set(tokens(String(connection)));
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value === undefined || named.has(name)) continue;
    // The gateway's own responses differ by what it names there.
    if (name === 'vary') response.append(name, String(value));
    else if (
      name !== 'content-length' &&
      (!isReservedInResponse(name) || (setCookie && name === 'set-cookie'))
    )
      response.set(name, value);
  }
  // Last: Node reads a Content-Disposition that follows it as UTF-8, and refuses characters of more than a byte.
  const length = headers['content-length'];
  if (length !== undefined && !named.has('content-length')) response.set('content-length', length);
}

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

/** Headers of each response that the gateway sets, as the description has them. */
export const ownResponseHeaders = words(`
  X-RateLimit-Limit X-RateLimit-Remaining X-RateLimit-Reset RateLimit-Policy RateLimit X-Request-Id
  Cache-Control Content-Security-Policy X-Content-Type-Options
`);

/** The gateway's own, those of a connection, and those that command a browser or a proxy before the gateway. */
const reservedResponses = new Set([
  ...ownResponseHeaders.map((name) => name.toLowerCase()),
  ...words(`
    x-ratelimit-window x-ratelimit-ban-after www-authenticate date server x-powered-by via
    connection keep-alive te trailer transfer-encoding upgrade
    strict-transport-security content-security-policy-report-only set-cookie set-cookie2 alt-svc clear-site-data refresh
    service-worker-allowed nel report-to reporting-endpoints
    age expires pragma cdn-cache-control surrogate-control x-sendfile x-lighttpd-send-file x-reproxy-url
  `),
]);

/** Whether a service cannot send this header to a client, whatever it describes. */
function isReservedInResponse(name: string): boolean {
  const lower = name.toLowerCase();
  return reservedResponses.has(lower) || /^(?:proxy-|access-control-|x-accel-|cross-origin-)/.test(lower);
}

/**
 * Those that the gateway sets, those of a connection, and those that a server behind the gateway may take for the method or
 * the path, which the gateway has not checked then.
 */
const reservedRequests = new Set(
  words(`
    authorization cookie host x-request-id traceparent tracestate baggage
    forwarded x-real-ip x-forwarded x-client-ip x-cluster-client-ip true-client-ip cf-connecting-ip fastly-client-ip
    connection keep-alive te trailer transfer-encoding upgrade http2-settings expect content-length
    x-http-method x-http-method-override x-method-override x-original-url x-rewrite-url
  `),
);

/** Whether a client cannot send this header to a service, whatever that describes. */
export function isReservedInRequest(name: string): boolean {
  const lower = name.toLowerCase();
  // Many servers read an underscore as a dash.
  return reservedRequests.has(lower) || lower.includes('_') || /^(?:proxy-|x-forwarded-)/.test(lower);
}

/** A list of words as text. */
export function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
