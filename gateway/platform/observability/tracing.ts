import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  defaultTextMapGetter,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Span,
} from '@opentelemetry/api';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { errorMessage } from '#runtime/error-message.ts';
import { createLogThrottle } from '#runtime/log-throttle.ts';
import type { Logger } from 'pino';

interface TracedRequest {
  req: IncomingMessage;
  /** Pattern of the route; undefined for a path that no service has. The path itself may hold anything, such as a key. */
  route: string | undefined;
  /** Name of the service that the route leads to. */
  service: string | undefined;
  scheme: string;
  requestId: string;
  clientAddress: string;
  /** Whether the peer is a trusted proxy, whose trace is continued: only it may decide which traces are recorded. */
  peerIsTrusted: boolean;
}

/** Outcome of a request whose response is complete or cut off. */
interface RequestOutcome {
  caller?: { id: string; plan: string };
  decision?: string;
  errorCode?: string;
}

/** One attempt to send a request to an instance of a service. */
interface Attempt {
  method: string | undefined;
  service: string;
  target: { hostname: string; port: string };
}

const exportDelayMs = 1000;
/** How long the end of the process waits for the collector. */
const flushTimeoutMs = 1000;

export type Tracing = ReturnType<typeof createTracing>;
export type RequestSpans = Tracing['spans'];

/** Exports spans in the background, and no request waits for that. Imported on demand: it loads OpenTelemetry. */
export function createTracing({ ratio }: { ratio: number }, log: Logger) {
  const isDue = createLogThrottle();
  setGlobalErrorHandler((error) => {
    if (isDue('')) log.warn({ reason: errorMessage(error) }, 'traces are not exported completely');
  });
  const own = { 'service.name': 'gateway', 'service.instance.id': randomUUID() };
  const provider = new TracerProvider({
    resource: resourceFromAttributes(own).merge(detectResources({ detectors: [envDetector] })),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    // It reads OTEL_EXPORTER_OTLP_* itself.
    spanProcessors: [
      new BatchSpanProcessor({ exporter: new OTLPTraceExporter(), scheduledDelayMillis: exportDelayMs }),
    ],
  });
  const tracer = provider.getTracer('gateway');
  const propagator = new W3CTraceContextPropagator();
  /** The span of the request that the caller works for. */
  const requestSpans = new AsyncLocalStorage<Span>();

  /** The spans of a request at the gateway, with the attributes of OpenTelemetry's semantic conventions. */
  const spans = {
    startRequest(request: TracedRequest): Span {
      const { req, route, service, scheme, requestId, clientAddress, peerIsTrusted } = request;
      const method = knownMethod(req.method);
      const parent = peerIsTrusted
        ? propagator.extract(ROOT_CONTEXT, req.headers, defaultTextMapGetter)
        : ROOT_CONTEXT;
      const name = [method ?? 'HTTP', route].filter(Boolean).join(' ');
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER }, parent);
      return span.setAttributes({
        'http.request.method': method ?? '_OTHER',
        'http.route': route,
        'url.scheme': scheme,
        'client.address': clientAddress,
        'gateway.request_id': requestId,
        'gateway.service': service,
      });
    },
    /** Ends the span of a request. Only a status from 500 on is an error of the server, and not that a client has left. */
    endRequest(span: Span, res: ServerResponse, { caller, decision, errorCode }: RequestOutcome): void {
      const { statusCode: status, headersSent, writableFinished } = res;
      span.setAttributes({
        'gateway.key_id': caller?.id,
        'gateway.plan': caller?.plan,
        'gateway.decision': decision,
        'gateway.error_code': errorCode,
        'http.response.status_code': headersSent ? status : undefined,
      });
      if (writableFinished ? status >= 500 : errorCode !== undefined) fail(span, errorCode ?? String(status));
      span.end();
    },
    /** Calls the next steps of the request, whose spans are children of this one. */
    run: (span: Span, next: () => void): void => requestSpans.run(span, next),
    /** Runs the decision on the active request, with the time that it waits for Redis. */
    async traceDecision<T extends { outcome: string }>(decide: () => Promise<T>): Promise<T> {
      const request = requestSpans.getStore();
      if (request === undefined) return decide();
      const span = tracer.startSpan('decide quota', {}, inside(request));
      try {
        const decision = await decide();
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
     * @param request span of the request
     * @returns headers that continue the trace, names and values in turn; and its end, with the response's status if it has begun
     */
    startAttempt(request: Span, { method, service, target }: Attempt) {
      const name = knownMethod(method);
      const span = tracer.startSpan(name ?? 'HTTP', { kind: SpanKind.CLIENT }, inside(request));
      span.setAttributes({
        'http.request.method': name ?? '_OTHER',
        'server.address': target.hostname,
        'server.port': Number(target.port) || undefined,
        'gateway.service': service,
      });
      const headers: string[] = [];
      propagator.inject(inside(span), headers, {
        set: (carrier, header, value) => carrier.push(header, value),
      });
      return {
        headers,
        end(status: number | undefined, error?: unknown): void {
          if (status !== undefined) span.setAttribute('http.response.status_code', status);
          if (error !== undefined) fail(span, error);
          // For a client, every error status is an error.
          else if (status !== undefined && status >= 400) fail(span, String(status));
          span.end();
        },
      };
    },
  };

  return {
    spans,
    /** Exports what is left, for at most a second. Never rejects. */
    close: () => Promise.race([provider.shutdown().catch(() => {}), sleep(flushTimeoutMs)]),
  };
}

/** Context in which a span is a child of this one. */
const inside = (span: Span) => trace.setSpan(ROOT_CONTEXT, span);

/** Marks a span as failed, with an error or a code. Never with a message, which may quote a request. */
function fail(span: Span, error: unknown): void {
  const code = error instanceof Error && 'code' in error ? error.code : error;
  const type = typeof code === 'string' ? code : error instanceof Error ? error.name : 'unknown';
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
}

const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']);

/** @returns undefined for a method that a client may have invented */
const knownMethod = (method = '') => (knownMethods.has(method) ? method : undefined);
