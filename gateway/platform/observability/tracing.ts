import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { diag, DiagLogLevel } from '@opentelemetry/api';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type SpanExporter,
} from '@opentelemetry/sdk-trace';
import { errorMessage } from '#runtime/error-message.ts';
import { createLogThrottle } from '#runtime/log-throttle.ts';
import type { Logger } from 'pino';
import type { TracingSettings } from '../config/env-schemas.ts';
import { createRequestSpans } from './request-spans.ts';

/** How long the end of the process waits for the collector. */
const flushTimeoutMs = 1000;

const ignore = () => {};

export type Tracing = Awaited<ReturnType<typeof createTracing>>;

/** Spans are exported in the background, and no request waits for that. Imported on demand: it loads OpenTelemetry. */
export async function createTracing(settings: TracingSettings, log: Logger) {
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
  return {
    spans: createRequestSpans(provider.getTracer('animal-store'), new W3CTraceContextPropagator()),
    /** Exports what is left, for at most a second. Never rejects. */
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
