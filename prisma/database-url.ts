import { readFileSync } from 'node:fs';

/**
 * Address of the database, from DATABASE_URL or from the file that DATABASE_URL_FILE names.
 * @returns undefined if neither is set
 * @throws Error that names the setting, and never the address, which may hold a password
 */
export function readDatabaseUrl(env: NodeJS.ProcessEnv): string | undefined {
  const url = env['DATABASE_URL'] || undefined;
  const path = env['DATABASE_URL_FILE'] || undefined;
  if (path === undefined) return url;
  if (url !== undefined) throw new Error('DATABASE_URL_FILE and DATABASE_URL are both set: set one');
  if (path.includes('://'))
    throw new Error('DATABASE_URL_FILE is a URL: set it to the name of a file that holds the URL');
  let content: string;
  try {
    content = readFileSync(path, 'utf8').trim();
  } catch (error) {
    const cause = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new Error(`DATABASE_URL_FILE=${JSON.stringify(path)} can't be read (${cause})`, { cause: error });
  }
  if (content === '') throw new Error(`DATABASE_URL_FILE=${JSON.stringify(path)} is empty`);
  if (/[\r\n]/.test(content))
    throw new Error(`DATABASE_URL_FILE=${JSON.stringify(path)} has more than one line`);
  return content;
}
