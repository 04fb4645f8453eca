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
    const path = env[`${name}_FILE`];
    if (path === undefined) continue;
    const issue =
      env[name] === undefined ? readInto(values, name, path) : `and ${name} are both set: set one`;
    if (issue !== undefined) issues.push(`${name}_FILE${issue.startsWith('=') ? '' : ' '}${issue}`);
  }
  return { values, issues };
}

/** @returns what is wrong */
function readInto(values: NodeJS.ProcessEnv, name: string, path: string): string | undefined {
  // It may hold a password.
  if (path.includes('://')) return 'is a URL: set it to the name of a file that holds the URL';
  const shown = `=${JSON.stringify(path)}`;
  let content: string;
  try {
    content = readFileSync(path, 'utf8').trim();
  } catch (error) {
    const cause = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    return `${shown} can't be read (${cause})`;
  }
  if (content === '') return `${shown} is empty`;
  if (/[\r\n]/.test(content)) return `${shown} has more than one line`;
  values[name] = content;
  return undefined;
}
