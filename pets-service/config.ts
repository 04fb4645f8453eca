import { resolve } from 'node:path';
import { z } from 'zod';
import type { HttpTimeouts } from './http/http-server.ts';

/** Everything that can be set from outside. The table in README.md says what each setting means. */
export interface Config {
  host: string;
  port: number;
  /** Undefined: an embedded PostgreSQL in the data directory. */
  databaseUrl: string | undefined;
  databasePoolSize: number;
  dataDirectory: string;
  logLevel: string;
  /** Empty: the data directory's own key. */
  publicKeyFiles: string[];
  timeouts: HttpTimeouts;
  /** Between SIGTERM and the first connection that is refused. */
  shutdownDelayMs: number;
  shutdownTimeoutMs: number;
  demo: boolean;
}

/** Settings that can't be used, each named with what is wrong with it. */
export class ConfigError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .refine((text) => /^\d{1,7}$/.test(text) && Number(text) >= min && Number(text) <= max, {
      error: `is not a whole number from ${min} to ${max}`,
    })
    .transform(Number);

const settings = z.object({
  PETS_SERVICE_HOST: z.string().default('127.0.0.1'),
  PETS_SERVICE_PORT: wholeNumber(0, 65_535).default(3001),
  DATABASE_URL: z
    .string()
    .refine((text) => ['postgresql:', 'postgres:'].includes(URL.parse(text)?.protocol ?? ''), {
      error: 'is not a URL such as postgresql://user:password@127.0.0.1:5432/pets',
    })
    .optional(),
  // By npm run bench:pets: with fewer a page takes more CPU, 20 gain nothing, and more make PostgreSQL's processes compete.
  DATABASE_POOL_SIZE: wholeNumber(1, 1000).default(10),
  DATA_DIR: z.string().default('.data'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      error: 'is none of fatal, error, warn, info, debug, trace, silent',
    })
    .default('info'),
  INTERNAL_TOKEN_PUBLIC_KEY_FILES: z
    .string()
    .transform((text) => text.split(',').map((file) => file.trim()))
    .refine((files) => !files.includes(''), 'holds an empty file name')
    .default([]),
  PETS_SERVICE_HEADERS_TIMEOUT_MS: wholeNumber(1, 9_999_999).default(10_000),
  // Longer than the gateway gives its own clients at the most, so that it is the one to answer 408.
  PETS_SERVICE_REQUEST_TIMEOUT_MS: wholeNumber(1, 9_999_999).default(300_000),
  // Longer than any caller keeps an idle connection, lest a request meets its closing.
  PETS_SERVICE_KEEP_ALIVE_TIMEOUT_MS: wholeNumber(1, 9_999_999).default(65_000),
  SHUTDOWN_DELAY_MS: wholeNumber(0, 9_999_999).default(2000),
  SHUTDOWN_TIMEOUT_MS: wholeNumber(1, 9_999_999).default(30_000),
  DEMO: z
    .enum(['true', 'false'], { error: 'is neither true nor false' })
    .default('false')
    .transform((text) => text === 'true'),
});

/**
 * Reads the environment. An empty variable counts as unset, as compose files pass them on.
 * @throws ConfigError with every fault at once. DATABASE_URL is never repeated: it may hold a password.
 */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const { data: values, error } = settings.safeParse(given);
  if (error !== undefined) {
    const faults = error.issues.map(({ path, message }) => {
      const name = String(path[0]);
      return name.endsWith('_URL')
        ? `${name} ${message}`
        : `${name}=${JSON.stringify(given[name])} ${message}`;
    });
    throw new ConfigError(faults);
  }
  return Object.freeze({
    host: values.PETS_SERVICE_HOST,
    port: values.PETS_SERVICE_PORT,
    databaseUrl: values.DATABASE_URL,
    databasePoolSize: values.DATABASE_POOL_SIZE,
    dataDirectory: resolve(values.DATA_DIR),
    logLevel: values.LOG_LEVEL,
    publicKeyFiles: values.INTERNAL_TOKEN_PUBLIC_KEY_FILES,
    timeouts: {
      headersTimeoutMs: values.PETS_SERVICE_HEADERS_TIMEOUT_MS,
      requestTimeoutMs: values.PETS_SERVICE_REQUEST_TIMEOUT_MS,
      keepAliveTimeoutMs: values.PETS_SERVICE_KEEP_ALIVE_TIMEOUT_MS,
    },
    shutdownDelayMs: values.SHUTDOWN_DELAY_MS,
    shutdownTimeoutMs: values.SHUTDOWN_TIMEOUT_MS,
    demo: values.DEMO,
  });
}
