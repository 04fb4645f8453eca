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
  const given: NodeJS.ProcessEnv = { ...defaults, ...set };
  const issues: string[] = [];
  for (const name of Object.keys(schema.shape)) {
    const path = `${name}_FILE` in schema.shape ? set[`${name}_FILE`] : undefined;
    if (path === undefined) continue;
    const secret = readSecret(name, path, name in set);
    if ('text' in secret) given[name] = secret.text;
    else issues.push(secret.issue);
  }
  const parsed = schema.safeParse(given);
  if (parsed.success && issues.length === 0) return parsed.data;
  for (const { path, message } of parsed.error?.issues ?? []) {
    const name = String(path[0]);
    const value = given[name] ?? '';
    const shown = mayHoldSecret.test(name) || isPem(value) ? '' : `=${JSON.stringify(value)}`;
    const source = name in set ? '' : ` in ${given[`${name}_FILE`]}`;
    issues.push(`${name}${source}${shown} ${message}`);
  }
  throw new ConfigError(issues);
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

export const milliseconds = (min = 1) => wholeNumber(min, 9_999_999, 'milliseconds');

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

/**
 * Reads a setting that may be in a file, as Docker and Kubernetes pass secrets. An issue never repeats what the file holds.
 * @param path name of the file
 */
function readSecret(name: string, path: string, isSet: boolean): { text: string } | { issue: string } {
  const setting = `${name}_FILE`;
  if (isSet) return { issue: `${setting} and ${name} are both set: set one` };
  // It may hold a password.
  if (path.includes('://')) {
    return { issue: `${setting} is a URL: set it to the name of a file that holds the URL` };
  }
  const refused = (reason: string) => ({ issue: `${setting}=${JSON.stringify(path)} ${reason}` });
  try {
    const text = readFileSync(path, 'utf8').trim();
    if (text === '') return refused('is empty');
    return /[\r\n]/.test(text) ? refused('has more than one line') : { text };
  } catch (error) {
    const cause = error instanceof Error && 'code' in error ? error.code : error;
    return refused(`can't be read (${String(cause)})`);
  }
}
