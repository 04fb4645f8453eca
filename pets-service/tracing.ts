import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { RequestHandler } from 'express';
import { knownMethod, routeOf } from './metrics.ts';

/**
 * Records the span of each request, and continues the trace of its caller. Comes after requireInternalToken, because only
 * an authenticated caller may decide which traces are recorded. Does nothing unless startTracing has set a provider.
 */
export function traceRequest(): RequestHandler {
  return function traceRequest(req, res, next) {
    const { requestId, tokenCaller } = res.locals;
    const method = knownMethod(req.method);
    const route = routeOf(req.path);
    // A caller may have sent anything in place of an id, such as a token.
    const hasId = /^\/v1\/pets(?:\/\d{1,19})?$/.test(req.path);
    const attributes = {
      'http.request.method': method ?? '_OTHER',
      'http.route': route,
      'url.path': hasId ? req.path : (route ?? '/REDACTED').replace('{petId}', 'REDACTED'),
      'url.scheme': req.protocol,
      'pets.request_id': requestId,
      'pets.issuer': tokenCaller?.issuer,
      'pets.caller': tokenCaller?.subject,
    };
    const name = [method ?? 'HTTP', route].filter(Boolean).join(' ');
    const parent = propagation.extract(ROOT_CONTEXT, req.headers);
    const tracer = trace.getTracer('pets-service');
    const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
    if (trace.isSpanContextValid(span.spanContext())) res.locals.traceId = span.spanContext().traceId;
    res.once('close', () => {
      if (res.headersSent) span.setAttribute('http.response.status_code', res.statusCode);
      // Only a status from 500 on is an error of this service.
      if (res.statusCode >= 500) {
        span.setAttribute('error.type', res.locals.sentCode ?? String(res.statusCode));
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
    });
    next();
  };
}

/**
 * Exports spans in the background if the variables of OpenTelemetry ask for it. Those not read here the libraries read.
 * @returns how to export what is left, for at most a second
 */
export async function startTracing(env: NodeJS.ProcessEnv): Promise<() => Promise<void>> {
  const endpoint = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] || env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  if ((env['OTEL_TRACES_EXPORTER'] || (endpoint ? 'otlp' : 'none')) === 'none') return async () => {};
  // A service without traces does not load these.
  const { W3CTraceContextPropagator } = await import('@opentelemetry/core');
  const { detectResources, envDetector, resourceFromAttributes } = await import('@opentelemetry/resources');
  const sdk = await import('@opentelemetry/sdk-trace');
  const isJson = env['OTEL_EXPORTER_OTLP_PROTOCOL'] === 'http/json';
  const { OTLPTraceExporter } = isJson
    ? await import('@opentelemetry/exporter-trace-otlp-http')
    : await import('@opentelemetry/exporter-trace-otlp-proto');
  const isByRatio = env['OTEL_TRACES_SAMPLER'] === 'parentbased_traceidratio';
  const ratio = isByRatio ? Number(env['OTEL_TRACES_SAMPLER_ARG'] || 1) : 1;
  const scheduledDelayMillis = Number(env['OTEL_BSP_SCHEDULE_DELAY'] || 5000);
  const own = { 'service.name': 'pets-service', 'service.instance.id': randomUUID() };
  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes(own).merge(detectResources({ detectors: [envDetector] })),
    sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter: new OTLPTraceExporter(), scheduledDelayMillis })],
  });
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  return () => Promise.race([provider.shutdown().catch(() => {}), sleep(1000)]);
}
