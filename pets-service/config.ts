import { resolve } from 'node:path';
import { host, parseEnvironment, port, text, wholeNumber } from '#runtime/environment.ts';
import { serviceSettings } from '#runtime/service-settings.ts';
import { tracingSettings } from '#runtime/tracing-settings.ts';
import { z } from 'zod';
import { callerKeyFiles } from './token-keys.ts';

/** Everything that can be set from outside. */
export type Config = ReturnType<typeof loadConfig>;

/** The parameter of Prisma's own engines has no effect here: the tables would be in `public`, shared by all schemas. */
const namesNoSchema = (text: string) => !(URL.parse(text)?.searchParams.has('schema') ?? false);

/** `postgresql:name` would be parsed as a URL without a host. */
function isDatabaseUrl(text: string): boolean {
  const { protocol = '', port: databasePort } = URL.parse(text) ?? {};
  return ['postgresql:', 'postgres:'].includes(protocol) && text.includes('://') && databasePort !== '0';
}

export const settings = z.object({
  PETS_SERVICE_HOST: host.default('127.0.0.1').describe('address of the pets service'),
  PETS_SERVICE_PORT: port.default(3001).describe('port of the pets service; 0 lets the system choose'),
  DATABASE_URL: z
    .string()
    .refine(isDatabaseUrl, 'is not a URL such as postgresql://user:password@127.0.0.1:5432/pets')
    .refine(namesNoSchema, {
      error: 'has the parameter schema, which is not supported: use a database for each environment',
    })
    .optional()
    .describe('such as `postgresql://user:password@host:5432/pets`; unset: embedded PostgreSQL'),
  DATABASE_URL_FILE: text.optional().describe('file that holds `DATABASE_URL`; also for `npm run migrate`'),
  // Fewer take more CPU for a page, 20 gain nothing, and more make PostgreSQL's processes compete.
  DATABASE_POOL_SIZE: wholeNumber(1, 1000)
    .default(10)
    .describe('connections to PostgreSQL: half for reads, half for creates'),
  INTERNAL_TOKEN_PUBLIC_KEY_FILES: text
    .transform((text) => text.split(',').map((file) => file.trim()))
    .refine((files) => !files.includes(''), 'holds an empty file name')
    .default([])
    .describe('PEM files, separated by commas: tokens of each are accepted; unset: the one in `DATA_DIR`'),
  PETS_SERVICE_CALLER_KEYS: callerKeyFiles.describe(
    'public keys of internal services: `billing:/keys/billing.pem`, separated by commas',
  ),
  ...serviceSettings,
});

/** @throws ConfigError with every invalid setting */
export function loadConfig(env: NodeJS.ProcessEnv) {
  const values = parseEnvironment(settings, env);
  return Object.freeze({
    host: values.PETS_SERVICE_HOST,
    port: values.PETS_SERVICE_PORT,
    /** Undefined: an embedded PostgreSQL in the data directory. */
    databaseUrl: values.DATABASE_URL,
    databasePoolSize: values.DATABASE_POOL_SIZE,
    dataDirectory: resolve(values.DATA_DIR),
    logLevel: values.LOG_LEVEL,
    /** Empty: the data directory's own key. */
    publicKeyFiles: values.INTERNAL_TOKEN_PUBLIC_KEY_FILES,
    /** Public keys of internal services that sign their own tokens. */
    callerKeyFiles: values.PETS_SERVICE_CALLER_KEYS,
    timeouts: {
      // Longer than the gateway allows its clients, so that the gateway sends the 408.
      requestTimeoutMs: 2 * values.REQUEST_TIMEOUT_MS,
      keepAliveTimeoutMs: values.KEEP_ALIVE_TIMEOUT_MS,
    },
    /** Time between SIGTERM and the first connection that is refused. */
    shutdownDelayMs: values.SHUTDOWN_DELAY_MS,
    shutdownTimeoutMs: values.SHUTDOWN_TIMEOUT_MS,
    demo: values.DEMO,
    /** Undefined: no traces are exported. */
    tracing: tracingSettings(values),
  });
}
