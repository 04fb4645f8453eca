import { z } from 'zod';
import { milliseconds } from './environment.ts';

/*
 * The exporter reads OTEL_EXPORTER_OTLP_* itself, and the SDK the name and the attributes of the service. Here is what turns
 * traces on, and what the SDK is given as options. Not @opentelemetry/sdk-node, which reads all of them, but installs 41 MB
 * in place of 20.
 */

const ratio = z
  .string()
  .refine((value) => /^(?:[01](?:\.0*)?|0?\.\d+)$/.test(value), { error: 'is not a number from 0 to 1' })
  .transform(Number);

const url = z.string().refine((value) => ['http:', 'https:'].includes(URL.parse(value)?.protocol ?? ''), {
  error: 'is not a URL such as http://collector:4318',
});

const oneOf = <const Names extends readonly string[]>(...names: Names) =>
  z.enum(names, { error: `is not one of ${names.join(', ')}` });

/** Variables of OpenTelemetry that are read here, for the schema of a service. */
export const tracingVariables = {
  OTEL_TRACES_EXPORTER: oneOf('otlp', 'none')
    .optional()
    .describe(
      '`otlp` or `none`; unset: `otlp` if an endpoint is set; `otlp` alone exports to `http://localhost:4318`',
    ),
  OTEL_EXPORTER_OTLP_ENDPOINT: url.optional().describe('URL of the collector; `/v1/traces` is added'),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url.optional().describe('the same as a complete URL'),
  OTEL_EXPORTER_OTLP_PROTOCOL: oneOf('http/protobuf', 'http/json')
    .default('http/protobuf')
    .describe('or `http/json`; gRPC is not supported'),
  OTEL_TRACES_SAMPLER: oneOf('parentbased_always_on', 'parentbased_traceidratio')
    .optional()
    .describe('`parentbased_always_on` (unset) or `parentbased_traceidratio`'),
  OTEL_TRACES_SAMPLER_ARG: ratio
    .default(1)
    .describe('share of the traces that `parentbased_traceidratio` samples, 0 to 1'),
  OTEL_BSP_SCHEDULE_DELAY: milliseconds().default(5000).describe('milliseconds between two exports'),
};

/** What of the variables is needed to export traces. */
export type TracingSettings = NonNullable<ReturnType<typeof tracingSettings>>;

/** @returns undefined if traces are off, as they are without an exporter and an endpoint */
export function tracingSettings(values: z.infer<z.ZodObject<typeof tracingVariables>>) {
  const endpoint = values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? values.OTEL_EXPORTER_OTLP_ENDPOINT;
  const exporter = values.OTEL_TRACES_EXPORTER ?? (endpoint === undefined ? 'none' : 'otlp');
  if (exporter === 'none') return undefined;
  return {
    protocol: values.OTEL_EXPORTER_OTLP_PROTOCOL,
    /** Share of new traces that are sampled. */
    ratio: values.OTEL_TRACES_SAMPLER === 'parentbased_traceidratio' ? values.OTEL_TRACES_SAMPLER_ARG : 1,
    exportDelayMs: values.OTEL_BSP_SCHEDULE_DELAY,
  };
}
