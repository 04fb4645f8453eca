import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attributes, Span } from '@opentelemetry/api';
import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import { errorMessage } from './errors.ts';
import { tokenCallerOf } from './internal-token.ts';
import { routeOf } from './metrics.ts';
import type { TracingSettings } from './tracing-settings.ts';

/** Operation and table, the `db.query.summary` of OpenTelemetry's conventions for databases. */
export type StatementSummary = `${'SELECT' | 'INSERT' | 'DELETE'} ${'pets' | 'idempotency_keys'}`;

/** Spans of this process. They are exported in the background, and no request waits for that. */
export type Tracing = Awaited<ReturnType<typeof startTracing>>;

interface TracingOptions {
  settings: TracingSettings;
  /** Of the database; undefined for the embedded one. */
  url: string | undefined;
  log: Logger;
}

/** How long the end of the process waits for the collector. */
const flushTimeoutMs = 1000;
/** Longer than any value of this service. */
const maxValueLength = 4096;
const logEveryMs = 60_000;

/** Loads OpenTelemetry, which a service that exports no traces does not need. */
export async function startTracing({ settings, url, log }: TracingOptions) {
  const [api, core, sdk, { resourceFromAttributes }, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/core'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/resources'),
    settings.protocol === 'http/json'
      ? import('@opentelemetry/exporter-trace-otlp-http')
      : import('@opentelemetry/exporter-trace-otlp-proto'),
  ]);
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api;
  let reportedAtMs = -logEveryMs;
  function report(reason: string): void {
    if (performance.now() - reportedAtMs < logEveryMs) return;
    reportedAtMs = performance.now();
    log.warn({ reason }, 'traces are not exported completely');
  }
  core.setGlobalErrorHandler((error) => report(errorMessage(error)));
  const { kind, parentBased } = settings.sampler;
  const root = {
    always_on: () => new sdk.AlwaysOnSampler(),
    always_off: () => new sdk.AlwaysOffSampler(),
    traceidratio: () => new sdk.TraceIdRatioBasedSampler(settings.samplerRatio),
  }[kind]();
  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'pets-service',
      'service.instance.id': randomUUID(),
      'process.pid': process.pid,
      ...settings.resource,
    }),
    sampler: parentBased ? new sdk.ParentBasedSampler({ root }) : root,
    spanLimits: { attributeValueLengthLimit: maxValueLength },
    // The exporter reads OTEL_EXPORTER_OTLP_* itself; tracing-settings.ts has checked the values.
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter: new OTLPTraceExporter(), ...settings.batch })],
  });
  const tracer = provider.getTracer('animal-store');
  const propagator = new core.W3CTraceContextPropagator();
  const requests = new AsyncLocalStorage<Span>();
  const server = url === undefined ? {} : serverAttributes(url);

  function fail(span: Span, errorType: string): void {
    span.setAttribute('error.type', errorType);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }

  return {
    /**
     * Records the span of each request, and continues the trace of its caller. Comes after requireInternalToken, because
     * only an authenticated caller may decide which traces are recorded.
     */
    traceRequest(): RequestHandler {
      return function traceRequest(req, res, next) {
        const { path, headers, method, protocol, httpVersion, socket } = req;
        const { issuer, subject } = tokenCallerOf(res.locals);
        const route = routeOf(path);
        const knownMethod = /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE)$/.test(method)
          ? method
          : '_OTHER';
        const name = knownMethod === '_OTHER' ? 'HTTP' : method;
        const parent = propagator.extract(ROOT_CONTEXT, headers, api.defaultTextMapGetter);
        const attributes: Attributes = {
          'http.request.method': knownMethod,
          'http.route': route,
          'url.path': safePath(path, route),
          'url.scheme': protocol,
          'network.protocol.version': httpVersion,
          // Not the Host header, which holds whatever a caller sends.
          'server.address': socket.localAddress,
          'server.port': socket.localPort,
          'pets.request_id': res.locals.requestId,
          'pets.issuer': issuer,
          'pets.caller': subject,
        };
        const span = tracer.startSpan(
          route === undefined ? name : `${name} ${route}`,
          { kind: SpanKind.SERVER, attributes },
          parent,
        );
        res.locals.span = span;
        res.once('close', () => {
          const { sentCode } = res.locals;
          if (res.headersSent) span.setAttribute('http.response.status_code', res.statusCode);
          // A caller that has left is no error of this service.
          if (!res.writableFinished && sentCode === undefined) span.setAttribute('error.type', 'aborted');
          else if (!res.writableFinished || res.statusCode >= 500)
            fail(span, sentCode ?? String(res.statusCode));
          span.end();
        });
        requests.run(span, next);
      };
    },

    /** Runs a statement of the active request. It is not recorded itself: it holds no values, but is long. */
    async statement<T>(summary: StatementSummary, run: () => Promise<T>): Promise<T> {
      const request = requests.getStore();
      if (request === undefined) return run();
      const [operation, table] = summary.split(' ');
      const attributes = {
        ...server,
        'db.system.name': 'postgresql',
        'db.operation.name': operation,
        'db.collection.name': table,
        'db.query.summary': summary,
      };
      const options = { kind: SpanKind.CLIENT, attributes };
      const span = tracer.startSpan(summary, options, trace.setSpan(ROOT_CONTEXT, request));
      try {
        return await run();
      } catch (error) {
        fail(span, errorType(error));
        throw error;
      } finally {
        span.end();
      }
    },

    /** Exports what is left, for at most a second. Never rejects. */
    async close(): Promise<void> {
      const shutdown = provider.shutdown().catch((error: unknown) => report(errorMessage(error)));
      const timedOut = sleep(flushTimeoutMs, true, { ref: false });
      if ((await Promise.race([shutdown, timedOut])) === true) {
        report('the collector did not take the last spans in time');
      }
    },
  };
}

/** The code of an error, or its class. Never its message, which may quote a request. */
function errorType(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const code = 'code' in error ? String(error.code) : '';
  return /^\w{2,64}$/.test(code) ? code : error.name;
}

/** A key that is sent in the path by mistake must not be recorded. */
function safePath(path: string, route: string | undefined): string {
  if (route === undefined) return '/REDACTED';
  return path === route || /^\/v1\/pets\/\d{1,19}$/.test(path) ? path : '/v1/pets/REDACTED';
}

function serverAttributes(url: string): Attributes {
  const { hostname, port, pathname } = new URL(url);
  return {
    'db.namespace': pathname.slice(1),
    'server.address': hostname,
    'server.port': Number(port) || 5432,
  };
}
