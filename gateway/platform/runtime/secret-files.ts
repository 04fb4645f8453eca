import { readFileSync } from 'node:fs';

export interface SecretFiles {
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
export function readSecretFiles(env: NodeJS.ProcessEnv, names: readonly string[]): SecretFiles {
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
