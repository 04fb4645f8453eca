import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  defaultTextMapGetter,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Attributes,
  type Span,
  type TextMapPropagator,
  type Tracer,
} from '@opentelemetry/api';

interface TracedRequest {
  req: IncomingMessage;
  /** Without the query, which is not recorded. */
  path: string;
  /** Pattern of the route; undefined for a path that no service has. */
  route: string | undefined;
  /** Name of the service that the route leads to. */
  service: string | undefined;
  scheme: string;
  requestId: string;
  clientAddress: () => string;
  /** Whether the peer is a trusted proxy, whose trace is continued. */
  peerIsTrusted: boolean;
}

/** Outcome of a request whose response is complete or cut off. */
interface RequestOutcome {
  caller: { id: string; plan: string } | undefined;
  decision: string | undefined;
  errorCode: string | undefined;
}

/** One attempt to send a request to an instance of a service. */
interface Attempt {
  method: string | undefined;
  path: string;
  route: string | undefined;
  service: string;
  target: { origin: string; hostname: string; port: string };
  /** Number of earlier attempts to send the request. */
  resendCount: number;
}

export type RequestSpans = ReturnType<typeof createRequestSpans>;

/** The span that the caller works for. */
const spansUnderWay = new AsyncLocalStorage<Span>();

/**
 * The spans of a request at the gateway, with the attributes of OpenTelemetry's semantic conventions. No sampler of the settings
 * needs attributes, so they are set on what is sampled only.
 */
export function createRequestSpans(tracer: Tracer, propagator: TextMapPropagator) {
  /** Headers that continue the trace in another service: names and values in turn. */
  function headersOf(span: Span): string[] {
    const headers: string[] = [];
    propagator.inject(inside(span), headers, { set: (carrier, name, value) => carrier.push(name, value) });
    return headers;
  }

  return {
    startRequest(request: TracedRequest): Span {
      const { req, path, route, service, scheme, requestId, clientAddress, peerIsTrusted } = request;
      const method = knownMethod(req.method);
      const name = method === '_OTHER' ? 'HTTP' : method;
      // Only a trusted proxy may decide which traces are recorded.
      const parent = peerIsTrusted
        ? propagator.extract(ROOT_CONTEXT, req.headers, defaultTextMapGetter)
        : ROOT_CONTEXT;
      const title = route === undefined ? name : `${name} ${route}`;
      const span = tracer.startSpan(title, { kind: SpanKind.SERVER }, parent);
      if (!isSampled(span)) return span;
      setDefined(span, {
        'http.request.method': method,
        'url.path': safePath(path, route),
        'url.scheme': scheme,
        'network.protocol.version': req.httpVersion,
        'http.route': route,
        // Not the Host header, which holds whatever a client sends.
        'server.address': req.socket.localAddress,
        'server.port': req.socket.localPort,
        'client.address': clientAddress(),
        'gateway.request_id': requestId,
        'gateway.service': service,
      });
      return span;
    },
    /** Ends the span of a request whose response is complete or cut off. Only a status from 500 on is an error of the server. */
    endRequest(span: Span, res: ServerResponse, { caller, decision, errorCode }: RequestOutcome): void {
      if (!isSampled(span)) return;
      const { statusCode: status, headersSent, writableFinished } = res;
      setDefined(span, {
        'gateway.key_id': caller?.id,
        'gateway.plan': caller?.plan,
        'gateway.decision': decision,
        'gateway.error_code': errorCode,
        'http.response.status_code': headersSent ? status : undefined,
      });
      if (writableFinished) {
        if (status >= 500) fail(span, errorCode ?? String(status));
      } else if (errorCode === undefined) {
        // The client has left, which is no error of this service.
        span.setAttribute('error.type', 'aborted');
      } else {
        fail(span, errorCode);
      }
      span.end();
    },
    /** Calls the next steps of the request, whose spans are children of this one. */
    run: (span: Span, next: () => void): void => spansUnderWay.run(span, next),
    /** Span of the active request or decision. */
    active: () => spansUnderWay.getStore(),
    /** Runs the decision on the active request, with the time that it waits for Redis. */
    async traceDecision<T extends { outcome: string }>(decide: () => Promise<T>): Promise<T> {
      const request = spansUnderWay.getStore();
      if (request === undefined || !isSampled(request)) return decide();
      const span = tracer.startSpan('decide quota', {}, inside(request));
      try {
        const decision = await spansUnderWay.run(span, decide);
        span.setAttribute('gateway.decision', decision.outcome);
        return decision;
      } catch (error) {
        fail(span, error);
        throw error;
      } finally {
        span.end();
      }
    },
    /**
     * @param decisions spans of the decisions that one command makes: it is a child of the first sampled one, and the others and
     * it link to each other
     * @returns ends the span, with the error if it failed
     */
    startQuotaCommand(decisions: readonly Span[]): (error?: unknown) => void {
      const [parent, ...others] = decisions.filter(isSampled);
      if (parent === undefined) return () => {};
      const attributes: Attributes = {
        'db.system.name': 'redis',
        'db.operation.name': 'EVALSHA',
        'db.stored_procedure.name': 'consume.lua',
      };
      if (decisions.length > 1) attributes['db.operation.batch.size'] = decisions.length;
      const links = others.map((other) => ({ context: other.spanContext() }));
      const options = { kind: SpanKind.CLIENT, attributes, links };
      const span = tracer.startSpan('EVALSHA consume.lua', options, inside(parent));
      for (const other of others) if (other.isRecording()) other.addLink({ context: span.spanContext() });
      return (error) => {
        if (error !== undefined) fail(span, error);
        span.end();
      };
    },
    /**
     * @param parent span of the request
     * @returns headers that continue the trace, names and values in turn; and its end, with the response's status if it has begun
     */
    startAttempt(
      parent: Span,
      { method, path, route, service, target, resendCount }: Attempt,
    ): { headers: readonly string[]; end(status: number | undefined, error?: unknown): void } {
      if (!isSampled(parent)) return { headers: headersOf(parent), end() {} };
      const { origin, hostname, port } = target;
      const name = knownMethod(method);
      const attributes: Attributes = {
        'http.request.method': name,
        'url.full': origin + safePath(path, route),
        'server.address': hostname,
        'gateway.service': service,
        'server.port': Number(port) || (origin.startsWith('https:') ? 443 : 80),
      };
      if (resendCount > 0) attributes['http.request.resend_count'] = resendCount;
      const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, inside(parent));
      return {
        headers: headersOf(span),
        end(status, error) {
          if (status !== undefined) span.setAttribute('http.response.status_code', status);
          if (error !== undefined) fail(span, error);
          // For a client, every error status is an error.
          else if (status !== undefined && status >= 400) fail(span, String(status));
          span.end();
        },
      };
    },
  };
}

/** Context in which a span is a child of this one. */
const inside = (span: Span) => trace.setSpan(ROOT_CONTEXT, span);

/**
 * Whether a span is exported. Not isRecording, which is false once it has ended: a request may go on when its client has left.
 */
const isSampled = (span: Span) => (span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0;

/** Marks a span as failed. @param error an error, or the value of `error.type` itself, of low cardinality */
function fail(span: Span, error: unknown): void {
  span.setAttribute('error.type', errorTypeOf(error));
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** The code of an error, or its class. Never its message, which may quote a request. */
function errorTypeOf(error: unknown): string {
  if (typeof error === 'string') return error;
  if (!(error instanceof Error)) return 'unknown';
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return /^\w{2,64}$/.test(code) ? code : error.name;
}

function setDefined(span: Span, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) span.setAttribute(name, value);
  }
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
