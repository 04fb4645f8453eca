import type { ResponseHeaders } from '../http/response-headers.ts';

/*
 * Which headers pass the gateway, in either direction. What the upstream may trust, the gateway sets itself;
 * a client's own copies are dropped here, in one place.
 */

/** Meant for one connection only (RFC 9110 section 7.6.1); a proxy that passes them on can be desynchronised. */
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

/** Statements about where a request came from. Believed from trusted proxies alone. */
const origin = ['forwarded', 'x-real-ip'];
const originPrefix = 'x-forwarded-';

/** Set by the gateway, whatever the client sent. */
const reserved = ['authorization', 'expect', 'host', 'x-request-id'];

const notForwarded = new Set([...hopByHop, ...reserved, ...origin]);

/** Set by the gateway on every response, or nobody's business outside. */
const notReturned = new Set([
  ...hopByHop,
  'cache-control',
  'content-security-policy',
  'date',
  'ratelimit',
  'ratelimit-policy',
  'server',
  'strict-transport-security',
  'www-authenticate',
  'x-content-type-options',
  'x-powered-by',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-request-id',
]);

/** Whether browsers of other sites may read an answer is not the upstream's to say. */
const corsPrefix = 'access-control-';

export interface ForwardedRequest {
  /** Names and values in turn, as received. */
  rawHeaders: readonly string[];
  /** Address of the peer that the connection is from. */
  peerAddress: string;
  /** Whether the peer is one of our own proxies, so that what it says of the origin is passed on. */
  peerIsTrusted: boolean;
  /** Value of Authorization: the internal token that says on whose behalf the request is made. */
  authorization: string;
  requestId: string;
  hasBody: boolean;
}

/** @returns headers for the upstream as names and values in turn; without Host, which the transport sets. */
export function upstreamRequestHeaders(request: ForwardedRequest): string[] {
  const { rawHeaders, peerAddress, peerIsTrusted } = request;
  const named = namedInConnection(rawHeaders);
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
    // Servers that hand headers on as variables, as CGI does, take an underscore for a hyphen.
    const meant = name.includes('_') ? name.replaceAll('_', '-') : name;
    if (notForwarded.has(meant) || meant.startsWith(originPrefix) || named.has(name)) continue;
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

/**
 * Whether headers for the upstream, as names and values in turn, hold an Idempotency-Key. What the client sent does not
 * tell: it may have named the header in Connection, and then it is not passed on.
 */
export function isKeyed(headers: readonly string[]): boolean {
  return headers.some((text, index) => index % 2 === 0 && text === 'idempotency-key');
}

/** Adds those headers of the upstream's response that the client may see, with their names in lower case. */
export function addClientHeaders(
  answer: ResponseHeaders,
  headers: Readonly<Record<string, string | string[] | undefined>>,
): void {
  const connection = headers['connection'];
  const named = connection === undefined ? noNames : new Set(tokens(String(connection)));
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value === undefined || notReturned.has(name) || named.has(name)) continue;
    if (!name.startsWith(corsPrefix)) answer.set(name, value);
  }
}

const noNames: ReadonlySet<string> = new Set();

/** Content-Length may not be disowned through Connection: the two ends would disagree on the body. */
function namedInConnection(rawHeaders: readonly string[]): ReadonlySet<string> {
  let named = noNames;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() !== 'connection') continue;
    named = new Set([...named, ...tokens(rawHeaders[index + 1] ?? '')]);
  }
  if (!named.has('content-length')) return named;
  return new Set([...named].filter((name) => name !== 'content-length'));
}

function tokens(value: string): string[] {
  return value.split(',').map((token) => token.trim().toLowerCase());
}
