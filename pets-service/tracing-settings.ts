import { accessSync } from 'node:fs';
import { z } from 'zod';

/*
 * OpenTelemetry's variables. Its own SDK for Node ignores an invalid one without a word, where this service does not start.
 * What else its exporter reads (OTEL_EXPORTER_OTLP_*) is left to it.
 */

/** What of the variables is needed to export traces. */
export type TracingSettings = NonNullable<ReturnType<typeof tracingSettings>>;

const samplers = ['always_on', 'always_off', 'traceidratio'] as const;
const samplerNames = [...samplers, ...samplers.map((name) => `parentbased_${name}` as const)];

const sampler = z
  .enum(samplerNames, { error: `is not one of ${samplerNames.join(', ')}` })
  .transform((name) => ({
    kind: samplers.find((kind) => name.endsWith(kind)) ?? 'always_on',
    parentBased: name.startsWith('parentbased_'),
  }));

const matching = (pattern: RegExp, error: string) => z.string().regex(pattern, { error });

/** The exporter would leave out a user and a password without a word. */
const endpoint = z
  .string()
  .refine(
    (value) => /^https?:\/\//i.test(value) && URL.canParse(value),
    'is not a URL such as http://collector:4318',
  )
  .refine(
    (value) => URL.parse(value)?.username === '' && URL.parse(value)?.password === '',
    'has a user or password: send them in OTEL_EXPORTER_OTLP_HEADERS',
  )
  .optional();

/** Baggage notation: pairs, separated by commas, with percent-encoded values. */
const pairs = z.string().transform((list, context) => {
  const values: Record<string, string> = {};
  for (const [index, entry] of list.split(',').entries()) {
    const [, name = '', value = ''] =
      /^([!#$%&'*+.^_`|~\w-]+)\s*=\s*([^\s\p{Cc}][^\p{Cc}]*)?$/u.exec(entry.trim()) ?? [];
    try {
      if (name === '') throw new Error('no name');
      values[name] = decodeURIComponent(value);
    } catch {
      context.addIssue({ code: 'custom', message: `has no name=value in entry ${index + 1}` });
    }
  }
  return values;
});

const readableFile = z.string().refine((path) => {
  try {
    accessSync(path);
    return true;
  } catch {
    return false;
  }
}, "is a file that can't be read");

const protocol = z.enum(['http/protobuf', 'http/json'], {
  error: 'is neither http/protobuf nor http/json; gRPC is not supported',
});

const count = (min: number, max: number, error = `is not a whole number from ${min} to ${max}`) =>
  z
    .string()
    .refine((text) => /^\d{1,7}$/.test(text) && Number(text) >= min && Number(text) <= max, error)
    .transform(Number);

const milliseconds = count(0, 9_999_999, 'is not a whole number of milliseconds from 0 to 9999999');

export const tracingVariables = {
  OTEL_SDK_DISABLED: matching(/^(?:true|false)$/i, 'is neither true nor false').default('false'),
  OTEL_TRACES_EXPORTER: z.enum(['otlp', 'none'], { error: 'is neither otlp nor none' }).optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint,
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol.default('http/protobuf'),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol.optional(),
  OTEL_EXPORTER_OTLP_HEADERS: pairs.optional(),
  OTEL_EXPORTER_OTLP_CERTIFICATE: readableFile.optional(),
  OTEL_SERVICE_NAME: z.string().optional(),
  OTEL_RESOURCE_ATTRIBUTES: pairs.optional(),
  OTEL_TRACES_SAMPLER: sampler.default({ kind: 'always_on', parentBased: true }),
  OTEL_TRACES_SAMPLER_ARG: matching(/^(?:0|1|0?\.\d+|[01]\.0*)$/, 'is not a number from 0 to 1').default('1'),
  OTEL_PROPAGATORS: matching(
    /^(?:baggage\s*,\s*)?tracecontext(?:\s*,\s*baggage)?$/,
    'is neither tracecontext nor tracecontext,baggage',
  ).optional(),
  OTEL_BSP_SCHEDULE_DELAY: milliseconds.default(5000),
  OTEL_BSP_EXPORT_TIMEOUT: milliseconds.default(30_000),
  OTEL_BSP_MAX_QUEUE_SIZE: count(1, 1_000_000).default(2048),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: count(1, 1_000_000).default(512),
};

/**
 * Traces are off unless an exporter is configured: OTEL_TRACES_EXPORTER=otlp, or an endpoint.
 * @returns undefined if they are off
 */
export function tracingSettings(values: z.infer<z.ZodObject<typeof tracingVariables>>) {
  const address = values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? values.OTEL_EXPORTER_OTLP_ENDPOINT;
  const exporter = values.OTEL_TRACES_EXPORTER ?? (address === undefined ? 'none' : 'otlp');
  if (values.OTEL_SDK_DISABLED.toLowerCase() === 'true' || exporter === 'none') return undefined;
  const { OTEL_SERVICE_NAME: name, OTEL_BSP_MAX_QUEUE_SIZE: maxQueueSize } = values;
  return {
    protocol: values.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? values.OTEL_EXPORTER_OTLP_PROTOCOL,
    resource: { ...values.OTEL_RESOURCE_ATTRIBUTES, ...(name === undefined ? {} : { 'service.name': name }) },
    sampler: values.OTEL_TRACES_SAMPLER,
    samplerRatio: Number(values.OTEL_TRACES_SAMPLER_ARG),
    batch: {
      scheduledDelayMillis: values.OTEL_BSP_SCHEDULE_DELAY,
      exportTimeoutMillis: values.OTEL_BSP_EXPORT_TIMEOUT,
      maxQueueSize,
      maxExportBatchSize: Math.min(values.OTEL_BSP_MAX_EXPORT_BATCH_SIZE, maxQueueSize),
    },
  };
}
