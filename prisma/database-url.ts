import { readFileSync } from 'node:fs';

/**
 * Address of the database, from DATABASE_URL or from the file that DATABASE_URL_FILE names.
 * @returns undefined if neither is set
 * @throws Error that names the setting, and never the address, which may hold a password
 */
export function readDatabaseUrl(env: NodeJS.ProcessEnv): string | undefined {
  const file = env['DATABASE_URL_FILE'] || undefined;
  const given = env['DATABASE_URL'] || undefined;
  if (file !== undefined && given !== undefined) {
    throw new Error('DATABASE_URL_FILE and DATABASE_URL are both set: set one');
  }
  const url = file === undefined ? given : readUrlFile(file);
  if (url === undefined) return undefined;
  const name = file === undefined ? 'DATABASE_URL' : `DATABASE_URL in ${file}`;
  const { searchParams } = (/^postgres(ql)?:\/\//.test(url) && URL.parse(url)) || {};
  if (searchParams === undefined) {
    throw new Error(`${name} is not a URL such as postgresql://user:password@127.0.0.1:5432/pets`);
  }
  // The parameter of Prisma's own engines has no effect here: the tables would be in `public`, shared by all schemas.
  if (!searchParams.has('schema')) return url;
  throw new Error(
    `${name} has the parameter schema, which is not supported: use a database for each environment`,
  );
}

function readUrlFile(path: string): string {
  if (path.includes('://')) {
    throw new Error('DATABASE_URL_FILE is a URL: set it to the name of a file that holds the URL');
  }
  const name = `DATABASE_URL_FILE=${JSON.stringify(path)}`;
  let content: string;
  try {
    content = readFileSync(path, 'utf8').trim();
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new Error(`${name} can't be read (${reason})`, { cause: error });
  }
  if (content === '') throw new Error(`${name} is empty`);
  if (/[\r\n]/.test(content)) throw new Error(`${name} has more than one line`);
  return content;
}
