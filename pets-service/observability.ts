import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import type { Request, RequestHandler } from 'express';
import { pino, type Logger } from 'pino';
import packageJson from '../package.json' with { type: 'json' };
import type { PetsError } from './errors.ts';
import type { TokenCaller } from './internal-token.ts';

declare module 'express-serve-static-core' {
  /** What the steps find out about a request. */
  interface Locals {
    requestId: string;
    tokenCaller?: TokenCaller;
    /** Why the token was refused. */
    tokenRefusal?: string;
    /** The error that was sent. */
    failure?: PetsError;
  }
}

/** One JSON line for each event on standard output. While the disk is full, lines beyond 4 MiB are dropped. */
export function createLog(level: string): Logger {
  const output = pino.destination({ sync: true, maxLength: 4 * 1024 * 1024 });
  output.on('error', () => {});
  return pino({ level, base: { service: 'pets-service' }, serializers: { err: serializeError } }, output);
}

/** Not all fields of an error: one of Prisma may hold what a caller sent. */
function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  const { name, message, stack, cause } = error;
  return { type: name, message, stack, cause: cause === undefined ? undefined : serializeError(cause) };
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Undefined is a method or a path that a caller may have invented: metrics and names of spans must not grow with them. */
function operationOf({ method, path }: Request) {
  const ofOnePet = /^\/v1\/pets\/[^/]+$/.test(path) ? '/v1/pets/{petId}' : undefined;
  return { method: methods.has(method) ? method : undefined, route: path === '/v1/pets' ? path : ofOnePet };
}

/**
 * Logs, counts and traces each request when its response is complete or cut off. The log names its caller, or why the token
 * was refused, with the request id that the gateway logs, too. Never logs a token or a body.
 */
export function recordAccess({ log, metrics }: { log: Logger; metrics: Metrics }): RequestHandler {
  return function recordAccess(req, res, next) {
    const startTime = performance.now();
    res.once('close', () => {
      const { requestId, tokenRefusal, tokenCaller, failure } = res.locals;
      const durationMs = performance.now() - startTime;
      // nginx's status for a caller that left before the response began. In logs and metrics only.
      const status = res.headersSent ? res.statusCode : 499;
      const operation = operationOf(req);
      const { method = 'other', route = 'unmatched' } = operation;
      metrics.requests.inc({ route, method, status, caller: tokenCaller?.issuer ?? 'none' });
      metrics.requestSeconds.observe({ route, method }, durationMs / 1000);
      const span = trace.getTracer('pets-service').startSpan(
        [operation.method ?? 'HTTP', operation.route].filter(Boolean).join(' '),
        {
          kind: SpanKind.SERVER,
          startTime,
          attributes: {
            'http.request.method': operation.method ?? '_OTHER',
            'http.route': operation.route,
            'http.response.status_code': res.headersSent ? status : undefined,
            'url.scheme': req.protocol,
            'pets.request_id': requestId,
            'pets.issuer': tokenCaller?.issuer,
            'pets.caller': tokenCaller?.subject,
          },
        },
        // Only an authenticated caller may decide which traces are recorded.
        tokenCaller === undefined ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, req.headers),
      );
      if (status >= 500)
        span
          .setAttribute('error.type', failure?.code ?? String(status))
          .setStatus({ code: SpanStatusCode.ERROR });
      span.end();
      const fields = {
        requestId,
        trace_id: trace.isSpanContextValid(span.spanContext()) ? span.spanContext().traceId : undefined,
        method: req.method,
        status,
        issuer: tokenCaller?.issuer,
        caller: tokenCaller?.subject,
        tokenRefusal,
        durationMs: Math.round(durationMs * 100) / 100,
        cutOff: res.writableFinished ? undefined : true,
        reason: failure?.cause instanceof Error ? failure.cause.message : undefined,
      };
      log.info(fields, 'request');
    });
    next();
  };
}

export type Metrics = ReturnType<typeof createMetrics>;

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Metrics of one instance. Labels are bounded: routes and never paths, names of configured callers and never subjects. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  // Those whose names `promtool check metrics` refuses.
  for (const { name } of registry.getMetricsAsArray()) {
    if (/^nodejs_(active_.+_total|eventloop_utilization_.+)$/.test(name)) registry.removeSingleMetric(name);
  }
  new Gauge({
    name: 'pets_build_info',
    help: 'Always 1; the labels say which version runs, on which version of Node',
    labelNames: ['version', 'node_version'],
    registers,
  }).set({ version: packageJson.version, node_version: process.version }, 1);
  /** The caller is the issuer of the token, or `none` without a valid one. */
  const requests = new Counter({
    name: 'pets_requests_total',
    help: 'Finished requests; 499 is a caller that left before the response',
    labelNames: ['route', 'method', 'status', 'caller'],
    registers,
  });
  const requestSeconds = new Histogram({
    name: 'pets_request_duration_seconds',
    help: 'Duration of a request, to the end of its response',
    labelNames: ['route', 'method'],
    buckets,
    registers,
  });
  return { registry, requests, requestSeconds };
}

/**
 * Exports spans in the background if OTEL_EXPORTER_OTLP_ENDPOINT names a collector.
 * @returns how to export what is left, for at most a second
 */
export async function startTracing(env: NodeJS.ProcessEnv): Promise<() => Promise<void>> {
  if (!env['OTEL_EXPORTER_OTLP_ENDPOINT']) return async () => {};
  // A service without traces does not load these.
  const { W3CTraceContextPropagator } = await import('@opentelemetry/core');
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http');
  const { detectResources, envDetector, resourceFromAttributes } = await import('@opentelemetry/resources');
  const sdk = await import('@opentelemetry/sdk-trace');
  const ratio = Number(env['OTEL_TRACES_SAMPLER_ARG'] || 1);
  const own = { 'service.name': 'pets-service', 'service.instance.id': randomUUID() };
  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes(own).merge(detectResources({ detectors: [envDetector] })),
    sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [
      new sdk.BatchSpanProcessor({ exporter: new OTLPTraceExporter(), scheduledDelayMillis: 1000 }),
    ],
  });
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  return () => Promise.race([provider.shutdown().catch(() => {}), sleep(1000)]);
}
