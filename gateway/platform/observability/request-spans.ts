import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Attributes, Span } from '@opentelemetry/api';
import { endServerSpan, knownMethod, safePath, startServerSpan } from '#runtime/server-span.ts';
import {
  activeSpan,
  errorTypeOf,
  isSampled,
  measureSpan,
  runInSpan,
  type Tracing,
} from '#runtime/tracing.ts';

interface TracedRequest {
  req: IncomingMessage;
  path: string;
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

/** The spans of a request at the gateway, with the attributes of OpenTelemetry's semantic conventions. */
export function createRequestSpans(tracing: Tracing) {
  return {
    startRequest({ peerIsTrusted, requestId, clientAddress, service, ...request }: TracedRequest): Span {
      const headers: IncomingHttpHeaders | undefined = peerIsTrusted ? request.req.headers : undefined;
      const attributes = () => ({
        'client.address': clientAddress(),
        'gateway.request_id': requestId,
        ...(service === undefined ? {} : { 'gateway.service': service }),
      });
      return startServerSpan(tracing, { ...request, attributes, headers });
    },
    endRequest(span: Span, res: ServerResponse, { caller, decision, errorCode }: RequestOutcome): void {
      if (!isSampled(span)) return;
      setDefined(span, {
        'gateway.key_id': caller?.id,
        'gateway.plan': caller?.plan,
        'gateway.decision': decision,
        'gateway.error_code': errorCode,
      });
      endServerSpan(tracing, span, res, errorCode);
    },
    /** Calls the next steps of the request, whose spans are children of this one. */
    run: (span: Span, next: () => void): void => runInSpan(span, next),
    /** Span of the active request or decision. */
    active: activeSpan,
    /** Runs the decision on the active request, with the time that it waits for Redis. */
    async traceDecision<T extends { outcome: string }>(decide: () => Promise<T>): Promise<T> {
      const request = activeSpan();
      if (request === undefined) return decide();
      const span = tracing.startInternalSpan('decide quota', {}, request);
      return measureSpan(tracing, span, async () => {
        const decision = await decide();
        span.setAttribute('gateway.decision', decision.outcome);
        return decision;
      });
    },
    /**
     * @param decisions spans of the decisions that one command makes
     * @returns ends the span, with the error if it failed
     */
    startQuotaCommand([first, ...others]: readonly Span[]): (error?: unknown) => void {
      if (first === undefined) return () => {};
      const attributes: Attributes = {
        'db.system.name': 'redis',
        'db.operation.name': 'EVALSHA',
        'db.stored_procedure.name': 'consume.lua',
      };
      if (others.length > 0) attributes['db.operation.batch.size'] = others.length + 1;
      const span = tracing.startClientSpan('EVALSHA consume.lua', attributes, [first, ...others]);
      return (error) => {
        if (error !== undefined) tracing.fail(span, errorTypeOf(error));
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
      if (!isSampled(parent)) return { headers: tracing.headersOf(parent), end() {} };
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
      const span = tracing.startClientSpan(name, attributes, [parent]);
      return {
        headers: tracing.headersOf(span),
        end(status, error) {
          if (status !== undefined) span.setAttribute('http.response.status_code', status);
          if (error !== undefined) tracing.fail(span, errorTypeOf(error));
          // For a client, every error status is an error.
          else if (status !== undefined && status >= 400) tracing.fail(span, String(status));
          span.end();
        },
      };
    },
  };
}

function setDefined(span: Span, attributes: Record<string, string | undefined>): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) span.setAttribute(name, value);
  }
}
