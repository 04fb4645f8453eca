import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Attributes, Span } from '@opentelemetry/api';
import { isSampled, type Tracing } from './tracing.ts';

export interface ServedRequest {
  req: IncomingMessage;
  /** Without the query, which is not recorded. */
  path: string;
  /** Pattern of the route; undefined for a path that the service does not have. */
  route: string | undefined;
  scheme: string;
  /** Further attributes, if the request is sampled. */
  attributes: () => Attributes;
  /** Headers of a trusted peer, whose trace is continued. */
  headers: IncomingHttpHeaders | undefined;
}

/** Starts the server span of a request, with the attributes of OpenTelemetry's HTTP conventions. */
export function startServerSpan(
  tracing: Tracing,
  { req, path, route, scheme, attributes, headers }: ServedRequest,
): Span {
  const method = knownMethod(req.method);
  const name = method === '_OTHER' ? 'HTTP' : method;
  const span = tracing.startServerSpan(route === undefined ? name : `${name} ${route}`, headers);
  if (!isSampled(span)) return span;
  const { localAddress, localPort } = req.socket;
  const http: Attributes = {
    'http.request.method': method,
    'url.path': safePath(path, route),
    'url.scheme': scheme,
    'network.protocol.version': req.httpVersion,
  };
  if (route !== undefined) http['http.route'] = route;
  // Not the Host header, which holds whatever a client sends.
  if (localAddress !== undefined) http['server.address'] = localAddress;
  if (localPort !== undefined) http['server.port'] = localPort;
  return span.setAttributes({ ...http, ...attributes() });
}

/**
 * Ends the span of a request whose response is complete or cut off. Only a status from 500 on is an error of the server.
 * @param errorCode code of the Error body, if this service has sent one
 */
export function endServerSpan(
  tracing: Tracing,
  span: Span,
  res: ServerResponse,
  errorCode: string | undefined,
): void {
  if (!isSampled(span)) return;
  const { statusCode: status, headersSent, writableFinished } = res;
  if (headersSent) span.setAttribute('http.response.status_code', status);
  if (writableFinished) {
    if (status >= 500) tracing.fail(span, errorCode ?? String(status));
  } else if (errorCode === undefined) {
    // The client has left, which is no error of this service.
    span.setAttribute('error.type', 'aborted');
  } else {
    tracing.fail(span, errorCode);
  }
  span.end();
}

const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']);

/** Clients can invent methods. */
export function knownMethod(method = ''): string {
  return knownMethods.has(method) ? method : '_OTHER';
}

/**
 * Replaces all segments of a path that a client chose freely: a key that is sent in the path by mistake must not be
 * recorded. The segments of the route's pattern stay, and numbers where it has a parameter.
 * @param route pattern such as /v1/orders/{id}
 */
export function safePath(path: string, route: string | undefined): string {
  if (route === undefined) return '/REDACTED';
  const pattern = route.split('/');
  return path
    .split('/')
    .slice(0, pattern.length)
    .map((segment, index) => {
      const isSafe = segment === pattern[index] || /^\d{1,19}$/.test(segment);
      return isSafe ? segment : 'REDACTED';
    })
    .join('/');
}
