import { accessSync, constants } from 'node:fs';
import { z } from 'zod';
import { milliseconds, text, wholeNumber } from './environment.ts';

/*
 * Not @opentelemetry/sdk-node, which reads these variables, too: it ignores an invalid one without a word (tried with eight,
 * version 0.301), where a service here does not start; and it installs 41 MB in place of 20, with exporters for gRPC,
 * metrics and logs. The OTLP exporter reads OTEL_EXPORTER_OTLP_* itself; here they are only checked.
 */

/** What of the variables is needed to export traces. */
export type TracingSettings = NonNullable<ReturnType<typeof tracingSettings>>;

const samplerNames = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

const oneOf = <const Names extends readonly [string, ...string[]]>(names: Names) =>
  z.enum(names, { error: `is not one of ${names.join(', ')}` });

const boolean = z
  .string()
  .refine((value) => /^(?:true|false)$/i.test(value), { error: 'is neither true nor false' })
  .transform((value) => value.toLowerCase() === 'true');

/** The exporter would leave out a user and a password without a word. */
const endpoint = z
  .string()
  .refine((value) => ['http:', 'https:'].includes(URL.parse(value)?.protocol ?? ''), {
    error: 'is not a URL such as http://collector:4318',
  })
  .refine((value) => URL.parse(value)?.username === '' && URL.parse(value)?.password === '', {
    error: 'has a user or password: send them in OTEL_EXPORTER_OTLP_HEADERS',
  });

/** Baggage notation: pairs, separated by commas, with percent-encoded values. */
const pairs = z.string().transform((list, context) => {
  const values: Record<string, string> = {};
  for (const [index, entry] of list.split(',').entries()) {
    const [, name = '', value = ''] =
      /^([!#$%&'*+.^_`|~\w-]+)\s*=\s*([^\s\p{Cc}][^\p{Cc}]*)?$/u.exec(entry.trim()) ?? [];
    const decoded = name === '' ? undefined : decode(value);
    if (decoded !== undefined) values[name] = decoded;
    else context.addIssue({ code: 'custom', message: `has no name=value in entry ${index + 1}` });
  }
  return values;
});

function decode(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}

const readableFile = text.refine(isReadable, { error: "is a file that can't be read" });

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

const protocol = z.enum(['http/protobuf', 'http/json'], {
  error: 'is neither http/protobuf nor http/json; gRPC is not supported',
});
const compression = oneOf(['gzip', 'none']);
const count = wholeNumber(1, 1_000_000);

/** A list, of which only the format of the W3C is used; baggage is neither read nor written. */
const propagators = z.string().refine(
  (list) => {
    const names = list.split(',').map((name) => name.trim());
    return names.includes('tracecontext') && names.every((name) => /^(?:tracecontext|baggage)$/.test(name));
  },
  { error: 'is neither tracecontext nor tracecontext,baggage' },
);

/** Variables of OpenTelemetry that are used, for the schema of a service. Others are ignored. */
export const tracingVariables = {
  OTEL_SDK_DISABLED: boolean.default(false),
  OTEL_TRACES_EXPORTER: z.enum(['otlp', 'none'], { error: 'is neither otlp nor none' }).optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint.optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol.default('http/protobuf'),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol.optional(),
  OTEL_EXPORTER_OTLP_HEADERS: pairs.optional(),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: pairs.optional(),
  OTEL_EXPORTER_OTLP_TIMEOUT: milliseconds().optional(),
  OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: milliseconds().optional(),
  OTEL_EXPORTER_OTLP_COMPRESSION: compression.optional(),
  OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: compression.optional(),
  OTEL_EXPORTER_OTLP_CERTIFICATE: readableFile.optional(),
  OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE: readableFile.optional(),
  OTEL_EXPORTER_OTLP_CLIENT_KEY: readableFile.optional(),
  OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY: readableFile.optional(),
  OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: readableFile.optional(),
  OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE: readableFile.optional(),
  OTEL_SERVICE_NAME: text.optional(),
  OTEL_RESOURCE_ATTRIBUTES: pairs.optional(),
  OTEL_TRACES_SAMPLER: oneOf(samplerNames).default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .refine((value) => /^(?:0|1|0?\.\d+|[01]\.0*|0\.\d+)$/.test(value), {
      error: 'is not a number from 0 to 1',
    })
    .transform(Number)
    .default(1),
  OTEL_PROPAGATORS: propagators.optional(),
  OTEL_BSP_SCHEDULE_DELAY: milliseconds(0).default(5000),
  OTEL_BSP_EXPORT_TIMEOUT: milliseconds().default(30_000),
  OTEL_BSP_MAX_QUEUE_SIZE: count.default(2048),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: count.default(512),
  OTEL_ATTRIBUTE_COUNT_LIMIT: count.default(128),
  OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: count.optional(),
  OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: count.optional(),
  OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT: count.optional(),
  OTEL_SPAN_LINK_COUNT_LIMIT: count.default(128),
  OTEL_SPAN_EVENT_COUNT_LIMIT: count.default(128),
};

/**
 * Traces are off unless an exporter is configured: OTEL_TRACES_EXPORTER=otlp, or an endpoint.
 * @returns undefined if they are off
 */
export function tracingSettings(values: z.infer<z.ZodObject<typeof tracingVariables>>) {
  const endpoint = values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? values.OTEL_EXPORTER_OTLP_ENDPOINT;
  const exporter = values.OTEL_TRACES_EXPORTER ?? (endpoint === undefined ? 'none' : 'otlp');
  if (values.OTEL_SDK_DISABLED || exporter === 'none') return undefined;
  const { OTEL_SERVICE_NAME: name, OTEL_BSP_MAX_QUEUE_SIZE: maxQueueSize } = values;
  return {
    protocol: values.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? values.OTEL_EXPORTER_OTLP_PROTOCOL,
    /** Attributes of the service, with its name if it is set. */
    resource: { ...values.OTEL_RESOURCE_ATTRIBUTES, ...(name === undefined ? {} : { 'service.name': name }) },
    sampler: values.OTEL_TRACES_SAMPLER,
    /** Share of new traces that are sampled, for the samplers with a ratio. */
    samplerRatio: values.OTEL_TRACES_SAMPLER_ARG,
    /** In the terms of the SDK, as `limits`. */
    batch: {
      scheduledDelayMillis: values.OTEL_BSP_SCHEDULE_DELAY,
      exportTimeoutMillis: values.OTEL_BSP_EXPORT_TIMEOUT,
      maxQueueSize,
      maxExportBatchSize: Math.min(values.OTEL_BSP_MAX_EXPORT_BATCH_SIZE, maxQueueSize),
    },
    limits: {
      attributeCountLimit: values.OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT ?? values.OTEL_ATTRIBUTE_COUNT_LIMIT,
      attributeValueLengthLimit:
        values.OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT ??
        values.OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT ??
        maxValueLength,
      linkCountLimit: values.OTEL_SPAN_LINK_COUNT_LIMIT,
      eventCountLimit: values.OTEL_SPAN_EVENT_COUNT_LIMIT,
    },
  };
}

/** Longer than any value of these services. Infinity would not survive the way to a worker, as JSON. */
const maxValueLength = 4096;
