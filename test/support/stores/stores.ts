import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

/** Creates an empty database on the shared PostgreSQL and returns its URL. */
export async function createDatabase(): Promise<string> {
  const adminUrl = inject('postgresAdminUrl');
  if (adminUrl === undefined) throw new Error('PostgreSQL is not installed');
  const name = `test_${randomBytes(6).toString('hex')}`;
  const client = new pg.Client(adminUrl);
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  return Object.assign(new URL(adminUrl), { pathname: `/${name}` }).href;
}

/**
 * A database of its own as a setting, for tests that are not about the embedded one, which takes ten seconds of CPU time to create.
 * @returns no setting where PostgreSQL is not installed
 */
export async function anyDatabase(): Promise<Record<string, string>> {
  return inject('postgresAdminUrl') === undefined ? {} : { DATABASE_URL: await createDatabase() };
}
