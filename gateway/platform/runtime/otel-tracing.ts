import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  defaultTextMapGetter,
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type SpanExporter,
} from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import { errorMessage } from './error-message.ts';
import { createLogThrottle } from './log-throttle.ts';
import type { TracingSettings } from './tracing-settings.ts';
import { isSampled, type Tracing } from './tracing.ts';

/** How long the end of the process waits for the collector. */
const flushTimeoutMs = 1000;

const ignore = () => {};

/** Only start-tracing.ts imports this file, on demand: it loads the packages of OpenTelemetry. */
export async function createOtelTracing(settings: TracingSettings, log: Logger): Promise<Tracing> {
  const isDue = createLogThrottle();
  const report = (reason: string) => {
    if (isDue('')) log.warn({ reason }, 'traces are not exported completely');
  };
  setGlobalErrorHandler((error) => report(errorMessage(error)));
  // Other arguments may hold what was exported, or the collector's response.
  const diagnose = (...parts: unknown[]) =>
    report(parts.filter((part) => typeof part === 'string').join(': '));
  diag.setLogger(
    { error: diagnose, warn: diagnose, info: ignore, debug: ignore, verbose: ignore },
    DiagLogLevel.WARN,
  );
  const exporter = await createExporter(settings);
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'gateway',
      'service.instance.id': randomUUID(),
      'process.pid': process.pid,
    }).merge(detectResources({ detectors: [envDetector] })),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(settings.ratio) }),
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: settings.exportDelayMs })],
  });
  const tracer = provider.getTracer('animal-store');
  const propagator = new W3CTraceContextPropagator();

  return {
    startServerSpan(name, headers) {
      const context =
        headers === undefined
          ? ROOT_CONTEXT
          : propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
      return tracer.startSpan(name, { kind: SpanKind.SERVER }, context);
    },
    startInternalSpan(name, attributes, parent) {
      // With every sampler, a child of a span that is not sampled would not be sampled either.
      if (!isSampled(parent)) return parent;
      return tracer.startSpan(name, { attributes }, trace.setSpan(ROOT_CONTEXT, parent));
    },
    startClientSpan(name, attributes, callers) {
      const parent = callers.find(isSampled);
      if (parent === undefined) return callers[0];
      const others = callers.filter((caller) => caller !== parent && isSampled(caller));
      const links = others.map((caller) => ({ context: caller.spanContext() }));
      const options = { kind: SpanKind.CLIENT, attributes, links };
      const span = tracer.startSpan(name, options, trace.setSpan(ROOT_CONTEXT, parent));
      for (const caller of others) {
        if (caller.isRecording()) caller.addLink({ context: span.spanContext() });
      }
      return span;
    },
    fail(span, errorType) {
      span.setAttribute('error.type', errorType);
      span.setStatus({ code: SpanStatusCode.ERROR });
    },
    headersOf(span) {
      const headers: string[] = [];
      propagator.inject(trace.setSpan(ROOT_CONTEXT, span), headers, {
        set(carrier, name, value) {
          carrier.push(name, value);
        },
      });
      return headers;
    },
    async close() {
      const flushed = new AbortController();
      const timeout = sleep(flushTimeoutMs, undefined, { signal: flushed.signal }).then(
        () => report('the collector did not take the last spans in time'),
        () => {},
      );
      const shutdown = provider.shutdown().catch((error: unknown) => report(errorMessage(error)));
      await Promise.race([shutdown, timeout]);
      flushed.abort();
    },
  };
}

/** The exporters read OTEL_EXPORTER_OTLP_* themselves. */
async function createExporter({ protocol }: TracingSettings): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter();
}
