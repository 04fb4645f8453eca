import { isIP } from 'node:net';
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

/** A key that was put where the name of its file belongs. It must not be shown. */
const isPem = (text: string) => text.includes('-----BEGIN');

/** A host or a path: nearly anything, but a blank one is a slip. */
const text = z
  .string()
  .refine((text) => text.trim() !== '', { error: 'is blank' })
  .refine((text) => !isPem(text), { error: 'is a key and not the name of a file' });

/** What the resolver takes for an address though it is none in full: 0 is all interfaces, to everybody's surprise. */
const isShortAddress = (text: string) => /^(0x[\da-f]+|[\d.]+)$/i.test(text) && isIP(text) === 0;

const host = text.refine((text) => !isShortAddress(text), 'is neither an IP address nor a name');

/** Of Prisma's own engines. Tables would be in `public` all the same, shared with who set another schema. */
const namesNoSchema = (text: string) => !(URL.parse(text)?.searchParams.has('schema') ?? false);

/** `postgresql:name` would be taken for a URL without a host. */
function isDatabaseUrl(text: string): boolean {
  const { protocol = '', port } = URL.parse(text) ?? {};
  return ['postgresql:', 'postgres:'].includes(protocol) && text.includes('://') && port !== '0';
}

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .refine((text) => /^\d{1,7}$/.test(text) && Number(text) >= min && Number(text) <= max, {
      error: `is not a whole number from ${min} to ${max}`,
    })
    .transform(Number);

const settings = z.object({
  PETS_SERVICE_HOST: host.default('127.0.0.1'),
  PETS_SERVICE_PORT: wholeNumber(0, 65_535).default(3001),
  DATABASE_URL: z
    .string()
    .refine(isDatabaseUrl, {
      error: 'is not a URL such as postgresql://user:password@127.0.0.1:5432/pets',
    })
    .refine(namesNoSchema, {
      error: 'has the parameter schema: the tables are in public, give each environment a database',
    })
    .optional(),
  // By npm run bench:pets: with fewer a page takes more CPU, 20 gain nothing, and more make PostgreSQL's processes compete.
  DATABASE_POOL_SIZE: wholeNumber(1, 1000).default(10),
  DATA_DIR: text.default('.data'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      error: 'is none of fatal, error, warn, info, debug, trace, silent',
    })
    .default('info'),
  INTERNAL_TOKEN_PUBLIC_KEY_FILES: text
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
 * @throws ConfigError with every fault at once. It repeats no URL, which may hold a password, and no key.
 */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const { data: values, error } = settings.safeParse(given);
  if (error !== undefined) {
    const faults = error.issues.map(({ path, message }) => {
      const name = String(path[0]);
      const value = given[name] ?? '';
      const shown = name.endsWith('_URL') || isPem(value) ? '' : `=${JSON.stringify(value)}`;
      return `${name}${shown} ${message}`;
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
