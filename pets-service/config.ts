import { resolve } from 'node:path';
import { z } from 'zod';
import { readDatabaseUrl } from '../prisma/database-url.ts';

/** Everything that can be set from outside, by the names of the environment variables. */
export type Config = ReturnType<typeof loadConfig>;

const isKey = (text: string) => text.includes('-----BEGIN');

const text = z
  .string()
  .refine((text) => text.trim() !== '', 'is blank')
  .refine((text) => !isKey(text), 'is a key: set it to the name of a file');

function number(kind: string, min: number, max: number) {
  const isValid = (text: string) => /^\d{1,12}$/.test(text) && Number(text) >= min && Number(text) <= max;
  return z.string().refine(isValid, `is not ${kind} from ${min} to ${max}`).transform(Number);
}

const milliseconds = (min = 1) => number('a whole number of milliseconds', min, 9_999_999);

const list = text.transform((text) => text.split(',').map((entry) => entry.trim()));

/** A name and a file. Tokens of the gateway and ops have the gateway's key; `none` labels requests without a valid token. */
const callerKey = /^(?!(?:gateway|ops|none):)([a-z\d][a-z\d._-]{0,62}):\s*(\S.*)$/;

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** Those without a description are the gateway's, too. OpenTelemetry's are read in observability.ts. */
export const settings = z.object({
  PETS_SERVICE_HOST: text.default('127.0.0.1').describe('address of the pets service'),
  PETS_SERVICE_PORT: number('a port number', 0, 65_535)
    .default(3001)
    .describe('port of the pets service; 0 lets the system choose'),
  DATABASE_URL: z
    .string()
    .optional()
    .describe('such as `postgresql://user:password@host:5432/pets`; unset: embedded PostgreSQL'),
  DATABASE_URL_FILE: z
    .string()
    .optional()
    .describe('file that holds `DATABASE_URL`; also for `npm run migrate`'),
  // Fewer take more CPU for a page, 20 gain nothing, and more make PostgreSQL's processes compete.
  DATABASE_POOL_SIZE: number('a whole number', 1, 1000)
    .default(10)
    .describe('connections to PostgreSQL: half for reads, half for creates'),
  INTERNAL_TOKEN_PUBLIC_KEY_FILES: list
    .refine((files) => !files.includes(''), 'holds an empty file name')
    .default([])
    .describe('PEM files, separated by commas: tokens of each are accepted; unset: the one in `DATA_DIR`'),
  PETS_SERVICE_CALLER_KEYS: list
    .refine(
      (entries) => entries.every((entry) => callerKey.test(entry)),
      'is not a list such as billing:/keys/billing.pem,reports:/keys/reports.pem, with names of lower-case letters, digits, dots, hyphens and underscores other than gateway, ops and none',
    )
    .default([])
    .transform((entries) =>
      entries.map((entry) => {
        const [, name = '', path = ''] = callerKey.exec(entry) ?? [];
        return { name, path };
      }),
    )
    .describe('public keys of internal services: `billing:/keys/billing.pem`, separated by commas'),
  DATA_DIR: text.default('.data').transform((directory) => resolve(directory)),
  LOG_LEVEL: z.enum(logLevels, { error: `is not one of ${logLevels.join(', ')}` }).default('info'),
  REQUEST_TIMEOUT_MS: milliseconds().default(30_000),
  // Longer than the idle timeout of common load balancers, 60 s, so that they do not use a connection being closed.
  KEEP_ALIVE_TIMEOUT_MS: milliseconds().default(65_000),
  SHUTDOWN_DELAY_MS: milliseconds(0).default(2000),
  SHUTDOWN_TIMEOUT_MS: milliseconds().default(30_000),
  DEMO: z
    .enum(['true', 'false'], { error: 'is neither true nor false' })
    .default('false')
    .transform((text) => text === 'true'),
});

/**
 * An empty variable counts as unset, since compose files pass them on.
 * @throws AggregateError with every invalid setting, which repeats no URL and no key
 */
export function loadConfig(env: NodeJS.ProcessEnv) {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const issues: string[] = [];
  let databaseUrl: string | undefined;
  try {
    databaseUrl = readDatabaseUrl(env);
  } catch (error) {
    issues.push(error instanceof Error ? error.message : String(error));
  }
  const { data, error } = settings.safeParse(given);
  for (const { path, message } of error?.issues ?? []) {
    const name = String(path[0]);
    const value = given[name] ?? '';
    issues.push(isKey(value) ? `${name} ${message}` : `${name}=${JSON.stringify(value)} ${message}`);
  }
  if (data === undefined || issues.length > 0) throw new AggregateError(issues, issues.join('\n'));
  return Object.freeze({ ...data, DATABASE_URL: databaseUrl });
}
