import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { z } from 'zod';
import { readDatabaseUrl } from '../prisma/database-url.ts';
import { errorMessage } from './errors.ts';
import { callerKeyFiles } from './token-keys.ts';
import { tracingSettings, tracingVariables } from './tracing-settings.ts';

/** Everything that can be set from outside. OPERATIONS.md says what each setting means. */
export type Config = ReturnType<typeof loadConfig>;

/** Settings that are invalid, each named with what is wrong with it. */
export class ConfigError extends Error {
  override name = 'ConfigError';
  readonly issues: readonly string[];

  constructor(issues: readonly string[]) {
    super(issues.join('\n'));
    this.issues = issues;
  }
}

/** A host or a path. */
const text = z
  .string()
  .refine((text) => text.trim() !== '', 'is blank')
  .refine((text) => !text.includes('-----BEGIN'), 'is a key: set it to the name of a file');

/** Text that the resolver completes to an address: `0`, for example, would listen on all interfaces. */
const isShortAddress = (text: string) => /^(0x[\da-f]+|[\d.]+)$/i.test(text) && isIP(text) === 0;

function wholeNumber(min: number, max: number, kind = 'a whole number') {
  const isValid = (text: string) => /^\d{1,7}$/.test(text) && Number(text) >= min && Number(text) <= max;
  return z.string().refine(isValid, `is not ${kind} from ${min} to ${max}`).transform(Number);
}

const milliseconds = (min = 1) => wholeNumber(min, 9_999_999, 'a whole number of milliseconds');

/** `postgresql:name` would be parsed as a URL without a host. */
function isDatabaseUrl(text: string): boolean {
  const { protocol = '', port } = URL.parse(text) ?? {};
  return ['postgresql:', 'postgres:'].includes(protocol) && text.includes('://') && port !== '0';
}

export const settings = z.object({
  PETS_SERVICE_HOST: text
    .refine((text) => !isShortAddress(text), 'is neither an IP address nor a host name')
    .default('127.0.0.1'),
  PETS_SERVICE_PORT: wholeNumber(0, 65_535, 'a port number').default(3001),
  DATABASE_URL: z
    .string()
    .refine(isDatabaseUrl, 'is not a URL such as postgresql://user:password@127.0.0.1:5432/pets')
    // Of Prisma's own engines; here the tables would be in `public`, shared by all schemas.
    .refine(
      (text) => !(URL.parse(text)?.searchParams.has('schema') ?? false),
      'has the parameter schema, which is not supported: use a database for each environment',
    )
    .optional(),
  DATABASE_URL_FILE: z.string().optional(),
  // Fewer take more CPU for a page, 20 gain nothing, and more make PostgreSQL's processes compete (npm run bench:pets).
  DATABASE_POOL_SIZE: wholeNumber(1, 1000).default(10),
  DATA_DIR: text.default('.data'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      error: 'is not one of fatal, error, warn, info, debug, trace, silent',
    })
    .default('info'),
  INTERNAL_TOKEN_PUBLIC_KEY_FILES: text
    .transform((text) => text.split(',').map((file) => file.trim()))
    .refine((files) => !files.includes(''), 'holds an empty file name')
    .default([]),
  PETS_SERVICE_CALLER_KEYS: text.pipe(callerKeyFiles).default([]),
  REQUEST_TIMEOUT_MS: milliseconds().default(30_000),
  // Longer than the idle timeout of common load balancers, 60 s, so that they do not use a connection being closed.
  KEEP_ALIVE_TIMEOUT_MS: milliseconds().default(65_000),
  SHUTDOWN_DELAY_MS: milliseconds(0).default(2000),
  SHUTDOWN_TIMEOUT_MS: milliseconds().default(30_000),
  DEMO: z
    .enum(['true', 'false'], { error: 'is neither true nor false' })
    .transform((text) => text === 'true')
    .default(false),
  ...tracingVariables,
});

/** @throws ConfigError with every invalid setting */
export function loadConfig(env: NodeJS.ProcessEnv) {
  const values = parseEnvironment(env);
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

/** An empty variable counts as unset, since compose files pass them on. No issue repeats a value that may hold a secret. */
function parseEnvironment(env: NodeJS.ProcessEnv): z.infer<typeof settings> {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const issues: string[] = [];
  const { DATABASE_URL_FILE: file } = given;
  try {
    const url = readDatabaseUrl(given);
    if (url !== undefined) given['DATABASE_URL'] = url;
  } catch (error) {
    issues.push(errorMessage(error));
  }
  const parsed = settings.safeParse(given);
  if (parsed.success && issues.length === 0) return parsed.data;
  for (const { path, message } of parsed.error?.issues ?? []) {
    const name = String(path[0]);
    const value = given[name] ?? '';
    const isSecret = /_(?:URL|ENDPOINT|HEADERS)$/.test(name) || value.includes('-----BEGIN');
    const source = name === 'DATABASE_URL' && file !== undefined ? ` in ${file}` : '';
    issues.push(`${name}${source}${isSecret ? '' : `=${JSON.stringify(value)}`} ${message}`);
  }
  throw new ConfigError(issues);
}
