import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** Settings that are invalid, each named with what is wrong with it. */
export class ConfigError extends Error {
  override name = 'ConfigError';
  readonly issues: readonly string[];

  constructor(issues: readonly string[]) {
    super(issues.join('\n'));
    this.issues = issues;
  }
}

/**
 * Reads settings from environment variables. An empty variable counts as unset, since compose files pass them on. A setting
 * whose name with `_FILE` is in the schema, too, may be in the file that this names.
 * @param defaults that depend on the environment; all others are in the schema
 * @throws ConfigError with every issue at once. It repeats no URL and no headers, which may hold a password, and no key.
 */
export function parseEnvironment<Schema extends z.ZodObject>(
  schema: Schema,
  env: NodeJS.ProcessEnv,
  defaults: NodeJS.ProcessEnv = {},
): z.infer<Schema> {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const inFiles = Object.keys(schema.shape).filter((name) => `${name}_FILE` in schema.shape);
  const files = readSecretFiles(set, inFiles);
  const given: NodeJS.ProcessEnv = { ...defaults, ...set, ...files.values };
  const parsed = schema.safeParse(given);
  if (parsed.success && files.issues.length === 0) return parsed.data;
  const issues = (parsed.error?.issues ?? []).map(({ path, message }) => {
    const name = String(path[0]);
    const value = given[name] ?? '';
    const shown = mayHoldSecret.test(name) || isPem(value) ? '' : `=${JSON.stringify(value)}`;
    const source = name in files.values ? ` in ${given[`${name}_FILE`]}` : '';
    return `${name}${source}${shown} ${message}`;
  });
  throw new ConfigError([...files.issues, ...issues]);
}

/** Names of settings whose value may hold a password or a token. */
const mayHoldSecret = /_(?:URL|ENDPOINT|HEADERS|ORIGINS)$/;

/** Whether a text is a key, where the name of its file was expected. */
const isPem = (text: string) => text.includes('-----BEGIN');

/** A host or a path: any text that is not blank. */
export const text = z
  .string()
  .refine((text) => text.trim() !== '', { error: 'is blank' })
  .refine((text) => !isPem(text), { error: 'is a key: set it to the name of a file' });

/** @param unit plural noun for the message, such as `milliseconds` */
export function wholeNumber(min: number, max: number, unit?: string) {
  const kind = unit === undefined ? 'a whole number' : `a whole number of ${unit}`;
  return z
    .string()
    .refine((text) => /^\d{1,12}$/.test(text) && Number(text) >= min && Number(text) <= max, {
      error: `is not ${kind} from ${min} to ${max}`,
    })
    .transform(Number);
}

const maxMilliseconds = 9_999_999;

export function milliseconds(min = 1, max = maxMilliseconds) {
  return wholeNumber(min, max, 'milliseconds');
}

export const port = z
  .string()
  .refine((text) => /^\d{1,5}$/.test(text) && Number(text) <= 65_535, {
    error: 'is not a port number from 0 to 65535',
  })
  .transform(Number);

export const logLevel = z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
  error: 'is not one of fatal, error, warn, info, debug, trace, silent',
});

export const boolean = z
  .enum(['true', 'false'], { error: 'is neither true nor false' })
  .transform((text) => text === 'true');

interface SecretFiles {
  /** What the files hold, by the setting that it is the value of. */
  values: NodeJS.ProcessEnv;
  /** What is wrong with each file or its name. */
  issues: string[];
}

/**
 * Reads settings that may be in a file, as Docker and Kubernetes pass secrets: REDIS_URL_FILE names the file that holds
 * REDIS_URL. An issue never repeats what a file holds.
 * @param env settings, without empty ones
 * @param names settings that may be in a file
 */
function readSecretFiles(env: NodeJS.ProcessEnv, names: readonly string[]): SecretFiles {
  const values: NodeJS.ProcessEnv = {};
  const issues: string[] = [];
  for (const name of names) {
    const setting = `${name}_FILE`;
    const path = env[setting];
    if (path === undefined) continue;
    if (env[name] !== undefined) issues.push(`${setting} and ${name} are both set: set one`);
    // It may hold a password.
    else if (path.includes('://'))
      issues.push(`${setting} is a URL: set it to the name of a file that holds the URL`);
    else {
      const secret = readSecret(path);
      if ('issue' in secret) issues.push(`${setting}=${JSON.stringify(path)} ${secret.issue}`);
      else values[name] = secret.text;
    }
  }
  return { values, issues };
}

function readSecret(path: string): { text: string } | { issue: string } {
  try {
    const text = readFileSync(path, 'utf8').trim();
    if (text === '') return { issue: 'is empty' };
    return /[\r\n]/.test(text) ? { issue: 'has more than one line' } : { text };
  } catch (error) {
    const cause = error instanceof Error && 'code' in error ? error.code : error;
    return { issue: `can't be read (${String(cause)})` };
  }
}
