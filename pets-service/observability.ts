import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import type { Request, RequestHandler, Response } from 'express';
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
    const startedAt = performance.now();
    res.once('close', () => {
      const { requestId, tokenRefusal, tokenCaller, failure } = res.locals;
      const durationMs = performance.now() - startedAt;
      // nginx's status for a caller that left before the response began. In logs and metrics only.
      const status = res.headersSent ? res.statusCode : 499;
      const { method = 'other', route = 'unmatched' } = operationOf(req);
      metrics.requests.inc({ route, method, status, caller: tokenCaller?.issuer ?? 'none' });
      metrics.requestSeconds.observe({ route, method }, durationMs / 1000);
      const fields = {
        requestId,
        trace_id: recordSpan(req, res, startedAt),
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

/**
 * Records the span of a request, which continues the trace of its caller. Only an authenticated caller may decide which
 * traces are recorded. Does nothing unless startTracing has set a provider.
 * @param startTime by the clock of `performance`
 * @returns id of the trace, if there is one
 */
function recordSpan(req: Request, res: Response, startTime: number): string | undefined {
  const { requestId, tokenCaller, failure } = res.locals;
  if (tokenCaller === undefined) return undefined;
  const { method, route } = operationOf(req);
  const attributes = {
    'http.request.method': method ?? '_OTHER',
    'http.route': route,
    'http.response.status_code': res.headersSent ? res.statusCode : undefined,
    'url.scheme': req.protocol,
    'pets.request_id': requestId,
    'pets.issuer': tokenCaller.issuer,
    'pets.caller': tokenCaller.subject,
  };
  const span = trace
    .getTracer('pets-service')
    .startSpan(
      [method ?? 'HTTP', route].filter(Boolean).join(' '),
      { kind: SpanKind.SERVER, attributes, startTime },
      propagation.extract(ROOT_CONTEXT, req.headers),
    );
  // Only a status from 500 on is an error of this service.
  if (res.statusCode >= 500) {
    span.setAttribute('error.type', failure?.code ?? String(res.statusCode));
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
  const context = span.spanContext();
  return trace.isSpanContextValid(context) ? context.traceId : undefined;
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
  const statementSeconds = new Histogram({
    name: 'pets_database_statement_duration_seconds',
    help: 'Duration of a query, with its wait for a connection',
    labelNames: ['pool'],
    buckets,
    registers,
  });
  // Prometheus sees no increase in a series that begins at 1.
  for (const pool of ['reads', 'writes']) statementSeconds.zero({ pool });
  for (const [method, status] of [
    ['GET', 200],
    ['POST', 201],
  ] as const) {
    requests.inc({ route: '/v1/pets', method, status, caller: 'gateway' }, 0);
    requestSeconds.zero({ route: '/v1/pets', method });
  }
  return { registry, requests, requestSeconds, statementSeconds };
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
